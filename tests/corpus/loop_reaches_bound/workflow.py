"""A condition that still holds after the last round that is allowed fails the loop."""

from tests.corpus.build import Expected, compare, flow, last, ref, sh, while_

workflow = flow(
    "loop-reaches-bound",
    sh("again", "echo yes", loop=while_(compare(last(), "==", "yes"), max_iterations=3)),
    sh(
        "in-time",
        "echo $(($1 + 1))",
        last(initial=0),
        result="int",
        loop=while_(compare(last(), "<", 3), max_iterations=3),
    ),
    sh("after", 'echo "$1"', ref("again")),
)
expected = Expected(
    "failed",
    succeeded="again@0 again@1 again@2 in-time in-time@0 in-time@1 in-time@2",
    failed="again",
    omitted="after",
)
