"""A default stands for a file that was not written, and for a step that did not run."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    on_completion,
    out,
    param,
    parameter,
    ref,
    sh,
)

workflow = flow(
    "output-defaults",
    sh("writes", 'echo 5 > "$COULER_WORK/n"', outputs=[out("n", "int", "n", default=0)]),
    sh(
        "forgets",
        "true",
        outputs=[out("n", "int", "n", default=0), out("any", "json", "any", default="none")],
    ),
    sh(
        "skipped",
        "true",
        outputs=[out("n", "int", "n", default=-1)],
        when=compare(param("on"), "==", True),
    ),
    sh("fails", 'echo 7 > "$COULER_WORK/n"; exit 1', outputs=[out("n", "int", "n", default=-2)]),
    sh(
        "sum",
        'echo "$1 $2 $3 $4 $5"',
        ref("writes", "n"),
        ref("forgets", "n"),
        ref("skipped", "n"),
        ref("fails", "n"),
        ref("forgets", "any"),
        depends_on=[on_completion("fails")],
    ),
    parameters=[parameter("on", False, "bool")],
)
expected = Expected(
    "succeeded",
    succeeded="writes forgets sum",
    skipped="skipped",
    failed="fails",
    outputs={"sum": {"result": "5 0 -1 -2 none"}},
)
