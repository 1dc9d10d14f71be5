"""A condition on a group holds for all inside; what is inside a skipped group has no state."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    group,
    or_else,
    out,
    param,
    parameter,
    ref,
    sh,
)

workflow = flow(
    "when-on-group",
    group(
        "yes",
        sh("a", "echo in"),
        sh("b", "true", when=compare(ref("a"), "==", "out")),
        outputs=[out("a", source=ref("a"))],
        when=compare(param("n"), ">=", 1),
    ),
    group(
        "no",
        sh("a", "echo in"),
        outputs=[out("a", source=ref("a"))],
        when=compare(param("n"), "<", 1),
    ),
    sh("end", 'echo "$1 $2"', or_else(ref("yes", "a"), "-"), or_else(ref("no", "a"), "-")),
    parameters=[parameter("n", 1, "int")],
)
expected = Expected(
    "succeeded",
    succeeded="yes yes/a end",
    skipped="yes/b no",
    outputs={"end": {"result": "in -"}},
)
