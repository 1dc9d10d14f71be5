"""The last step reads both branches, and is ordered after one more that it does not read."""

from tests.corpus.build import Expected, flow, given, ref, sh

workflow = flow(
    "diamond",
    sh("a", "echo 2", result="int"),
    sh("b", "echo $((COULER_INPUT_n + 1))", inputs=[given("n", ref("a"), "int")], result="int"),
    sh("c", "echo $((COULER_INPUT_n * 5))", inputs=[given("n", ref("a"), "int")], result="int"),
    sh("quiet", "true", depends_on=["a"]),
    sh("d", 'echo "$1+$2"', ref("b"), ref("c"), depends_on=["quiet"]),
)
expected = Expected(
    "succeeded",
    succeeded="a b c quiet d",
    outputs={
        "b": {"result": 3},
        "c": {"result": 10},
        "quiet": {"result": ""},
        "d": {"result": "3+10"},
    },
)
