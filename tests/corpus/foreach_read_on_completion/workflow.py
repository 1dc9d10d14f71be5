"""Who depends on the end of a failed foreach finds null in the place of failed items."""

from tests.corpus.build import Expected, flow, item, on_completion, on_failure, or_else, ref, sh

workflow = flow(
    "foreach-read-on-completion",
    sh("work", "test $1 -ne 2 && echo $(($1 * 10))", item(), foreach=[1, 2, 3], result="int"),
    sh("after", 'echo "$1"', or_else(ref("work"), []), depends_on=[on_completion("work")]),
    sh("handle", 'echo "$1"', or_else(ref("work"), []), depends_on=[on_failure("work")]),
)
expected = Expected(
    "succeeded",
    succeeded="work[0] work[2] after handle",
    failed="work work[1]",
    outputs={
        "work": {"result": [10, None, 30]},
        "after": {"result": "[10,null,30]"},
        "handle": {"result": "[10,null,30]"},
    },
)
