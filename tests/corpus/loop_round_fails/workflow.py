"""A round that fails ends its loop, and fails it."""

from tests.corpus.build import Expected, compare, flow, last, on_failure, sh, while_

workflow = flow(
    "loop-round-fails",
    sh(
        "count",
        "test $1 -lt 1 && echo $(($1 + 1))",
        last(initial=0),
        result="int",
        loop=while_(compare(last(), "<", 5)),
    ),
    sh("handle", "true", depends_on=[on_failure("count")]),
)
expected = Expected("succeeded", succeeded="count@0 handle", failed="count count@1")
