"""Two lists side by side, one of them known only in the run."""

from tests.corpus.build import Expected, flow, item, ref, sh

workflow = flow(
    "foreach-zip",
    sh("numbers", "echo '[1, 2, 3]'", result="list"),
    sh(
        "pair",
        'echo "$1$2"',
        item("letter"),
        item("number"),
        foreach={"letter": ["a", "b", "c"], "number": ref("numbers")},
    ),
)
expected = Expected(
    "succeeded",
    succeeded="numbers pair pair[0] pair[1] pair[2]",
    outputs={"pair": {"result": ["a1", "b2", "c3"]}},
)
