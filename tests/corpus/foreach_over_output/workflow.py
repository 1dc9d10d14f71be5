"""Items from an earlier output: a list known only in the run."""

from tests.corpus.build import Expected, flow, item, ref, sh

workflow = flow(
    "foreach-over-output",
    sh("list", "echo '[\"x\", 2, [3], null]'", result="list"),
    sh("one", 'echo "<$1>"', item(), foreach=ref("list")),
    sh("text", "echo '[10, 20]'"),
    sh("from-text", "echo $(($1 + 1))", item(), foreach=ref("text"), result="int"),
)
expected = Expected(
    "succeeded",
    succeeded="list one one[0] one[1] one[2] one[3] text from-text from-text[0] from-text[1]",
    outputs={
        "one": {"result": ["<x>", "<2>", "<[3]>", "<null>"]},
        "from-text": {"result": [11, 21]},
    },
)
