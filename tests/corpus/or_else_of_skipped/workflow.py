"""A read of a skipped step gives the default, also inside a part and a template."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    or_else,
    param,
    parameter,
    part,
    ref,
    sh,
    text,
)

workflow = flow(
    "or-else-of-skipped",
    sh("maybe", "echo '{\"n\": 1}'", when=compare(param("wanted"), "==", True), result="json"),
    sh("plain", 'echo "$1"', or_else(ref("maybe"), {"n": 0})),
    sh("inside", 'echo "$1"', or_else(part(ref("maybe"), "n"), -1)),
    sh("joined", 'echo "$1"', or_else(text("n is ", part(ref("maybe"), "n")), "no n")),
    parameters=[parameter("wanted", False, "bool")],
)
expected = Expected(
    "succeeded",
    succeeded="plain inside joined",
    skipped="maybe",
    outputs={
        "plain": {"result": '{"n":0}'},
        "inside": {"result": "-1"},
        "joined": {"result": "no n"},
    },
)
