"""A single step again and again, each round reading the one before."""

from tests.corpus.build import Expected, compare, flow, last, ref, sh, while_

workflow = flow(
    "loop-step",
    sh(
        "count",
        "echo $(($1 + 1))",
        last(initial=0),
        result="int",
        loop=while_(compare(last(), "<", 3)),
    ),
    sh("after", 'echo "$1"', ref("count")),
)
expected = Expected(
    "succeeded",
    succeeded="count count@0 count@1 count@2 after",
    outputs={"count@0": {"result": 1}, "count": {"result": 3}, "after": {"result": "3"}},
)
