"""Steps in parts, with all kinds of edges between them: the outcome is that of the scope as one.

The failed step takes those with it that need it, whatever part they are in, and no others.
"""

from couler.ir.policies import Part
from tests.corpus.build import (
    Expected,
    any_of,
    compare,
    flow,
    given,
    group,
    item,
    on_completion,
    on_failure,
    or_else,
    out,
    param,
    ref,
    sh,
)

first, second, last = (Part(group=name) for name in ("first", "second", "last"))

workflow = flow(
    "parts",
    sh("load", "echo 3", result="int", part=first),
    sh("check", "exit 1", part=first),
    sh("each", 'echo "<$1>"', item(), foreach=["a", "b"], part=first),
    sh("needs-check", "true", depends_on=["check"], part=second),
    sh(
        "train",
        "echo $((COULER_INPUT_n * 2))",
        inputs=[given("n", ref("load"), "int")],
        result="int",
        part=second,
    ),
    sh("alarm", "echo sent", depends_on=[on_failure("check")], part=second),
    sh("calm", "true", depends_on=[on_failure("load")], part=second),
    sh("either", "true", depends_on=[any_of("check", "load")], part=second),
    sh("large", "echo large", when=compare(ref("train"), ">", 100), part=last),
    sh("list", 'echo "$1"', ref("each"), part=last),
    sh(
        "after",
        'echo "$1 $2"',
        or_else(ref("check"), "none"),
        or_else(ref("alarm"), "none"),
        depends_on=[on_completion("check"), on_completion("needs-check"), "calm"],
        part=last,
    ),
    group(
        "inside",
        sh("a", 'echo "$1"', param("n"), part=first),
        sh("b", 'echo "$1$1"', ref("a"), part=second),
        inputs=[given("n", ref("train"), "int")],
        outputs=[out("text", source=ref("b"))],
    ),
    sh("alone", 'echo "$1"', ref("inside", "text")),
    sh("handles", "true", depends_on=[on_completion("needs-check"), "alone"]),
    outputs=[
        out("text", source=ref("alone")),
        out("large", source=or_else(ref("large"), "small")),
        out("after", source=ref("after")),
    ],
)
expected = Expected(
    "succeeded",
    succeeded="load each each[0] each[1] train alarm either list after inside inside/a inside/b "
    "alone handles",
    failed="check",
    skipped="calm large",
    omitted="needs-check",
    outputs={"each": {"result": ["<a>", "<b>"]}, "list": {"result": '["<a>","<b>"]'}},
    run_outputs={"text": "66", "large": "small", "after": "none sent"},
)
