"""Steps in parts with runs of their own, some in groups there: the outcome is that of one run.

Values, a file, the name of the run and the ends of steps go from run to run. The failed step takes
those with it that need it, in whatever run they are, and no others.
"""

from couler.ir.policies import Part
from couler.ir.workflow import Output
from tests.corpus.build import (
    Expected,
    flow,
    given,
    group,
    item,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    parameter,
    ref,
    run,
    sh,
)

first, second = Part(run="first"), Part(run="second")
inner, other = Part(run="third", group="inner"), Part(run="third", group="other")

workflow = flow(
    "parts-with-runs",
    sh(
        "make",
        'echo "$1: $2" > "$COULER_WORK/note"; echo "$3"',
        param("title"),
        'a "b" $(HOME) $$ \\',
        run("id"),
        outputs=[Output(name="note", type="file", path="note")],
        part=first,
    ),
    sh("each", 'echo "($1)"', item(), foreach=["a", "b"], part=first),
    sh("check", "exit 1", part=first),
    sh(
        "read",
        'cat "$COULER_INPUT_note"; test "$1" = "$2" && echo same',
        ref("make"),
        run("id"),
        inputs=[given("note", ref("make", "note"), "file")],
        part=second,
    ),
    sh("needs-check", "true", depends_on=["check"], part=second),
    sh("alarm", "echo sent", depends_on=[on_failure("check")], part=second),
    sh("calm", "true", depends_on=[on_failure("make")], part=second),
    sh("alone", 'echo "$1"', ref("each")),
    sh("list", 'echo "$1"', ref("alone"), part=inner),
    group(
        "inside",
        sh("a", 'echo "$1"', param("text")),
        inputs=[given("text", ref("read"))],
        outputs=[out("text", source=ref("a"))],
        part=other,
    ),
    sh(
        "after",
        'echo "$1 $2"',
        or_else(ref("check"), "none"),
        or_else(ref("alarm"), "none"),
        depends_on=[on_completion("check"), on_completion("needs-check"), "list"],
        part=other,
    ),
    parameters=[parameter("title", "a title")],
    outputs=[
        out("text", source=ref("inside", "text")),
        out("after", source=ref("after")),
        out("list", source=ref("list")),
    ],
)
expected = Expected(
    "succeeded",
    succeeded="make each each[0] each[1] read alarm alone list inside inside/a after",
    failed="check",
    skipped="calm",
    omitted="needs-check",
    outputs={"each": {"result": ["(a)", "(b)"]}},
    run_outputs={
        "text": 'a title: a "b" $(HOME) $$ \\\nsame',
        "after": "none sent",
        "list": '["(a)","(b)"]',
    },
)
