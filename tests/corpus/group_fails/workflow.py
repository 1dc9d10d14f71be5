"""A failed group has no outputs, runs its other branches, and its failure can be handled."""

from tests.corpus.build import (
    Expected,
    flow,
    group,
    on_completion,
    on_failure,
    or_else,
    out,
    ref,
    sh,
)

workflow = flow(
    "group-fails",
    group(
        "work",
        sh("good", "echo good"),
        sh("bad", "exit 1"),
        sh("worse", "true", depends_on=["bad"]),
        outputs=[out("good", source=ref("good"))],
    ),
    sh(
        "reads",
        'echo "$1"',
        or_else(ref("work", "good"), "nothing"),
        depends_on=[on_completion("work")],
    ),
    sh("handles", "true", depends_on=[on_failure("work")]),
)
expected = Expected(
    "succeeded",
    succeeded="work/good reads handles",
    failed="work work/bad",
    omitted="work/worse",
    outputs={"reads": {"result": "nothing"}},
)
