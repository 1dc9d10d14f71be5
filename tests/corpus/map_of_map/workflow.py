"""A foreach over what another foreach gave, item by item."""

from tests.corpus.build import Expected, flow, item, ref, sh

workflow = flow(
    "map-of-map",
    sh("first", "echo $(($1 + 1))", item(), foreach=[1, 2, 3], result="int"),
    sh("second", "echo $(($1 * 10))", item(), foreach=ref("first"), result="int"),
    sh(
        "third",
        'echo "$1 $2"',
        item("a"),
        item("b"),
        foreach={"a": ref("first"), "b": ref("second")},
    ),
)
expected = Expected(
    "succeeded",
    succeeded="first first[0] first[1] first[2] second second[0] second[1] second[2] "
    "third third[0] third[1] third[2]",
    outputs={"third": {"result": ["2 20", "3 30", "4 40"]}},
)
