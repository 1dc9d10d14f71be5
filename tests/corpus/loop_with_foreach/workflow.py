"""A step with both has its loop inside each item of its foreach."""

from tests.corpus.build import Expected, compare, flow, item, last, ref, sh, while_

workflow = flow(
    "loop-with-foreach",
    sh(
        "count",
        "echo $(($1 + $2))",
        last(initial=item()),
        item(),
        foreach=[1, 2],
        result="int",
        loop=while_(compare(last(), "<", 3)),
    ),
    sh("end", 'echo "$1"', ref("count")),
)
expected = Expected(
    "succeeded",
    succeeded="count count[0] count[0]@0 count[0]@1 count[1] count[1]@0 end",
    outputs={"count[0]@0": {"result": 2}, "count": {"result": [3, 4]}, "end": {"result": "[3,4]"}},
)
