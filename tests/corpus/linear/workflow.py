"""Three steps in a row; text goes from one to the next."""

from tests.corpus.build import Expected, flow, given, ref, sh

workflow = flow(
    "linear",
    sh("a", "echo one"),
    sh("b", 'echo "$1 two"', ref("a")),
    sh("c", 'echo "$COULER_INPUT_before three"', inputs=[given("before", ref("b"))]),
)
expected = Expected(
    "succeeded",
    succeeded="a b c",
    outputs={"a": {"result": "one"}, "b": {"result": "one two"}, "c": {"result": "one two three"}},
)
