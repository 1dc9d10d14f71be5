"""Several steps for each item; a skipped inner step leaves the default of the output."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    given,
    group,
    item,
    out,
    param,
    ref,
    sh,
)

workflow = flow(
    "foreach-group",
    group(
        "each",
        sh("double", "echo $(($1 * 2))", param("n"), result="int"),
        sh("odd", 'echo "$1 is odd"', param("n"), when=compare(param("n"), "!=", 2)),
        inputs=[given("n", item(), "int")],
        outputs=[
            out("double", "int", source=ref("double")),
            out("odd", source=ref("odd"), default="even"),
        ],
        foreach=[1, 2, 3],
    ),
    sh("sum", 'echo "$1 $2"', ref("each", "double"), ref("each", "odd")),
)
expected = Expected(
    "succeeded",
    succeeded="each each[0] each[0]/double each[0]/odd each[1] each[1]/double "
    "each[2] each[2]/double each[2]/odd sum",
    skipped="each[1]/odd",
    outputs={
        "each": {"double": [2, 4, 6], "odd": ["1 is odd", "even", "3 is odd"]},
        "sum": {"result": '[2,4,6] ["1 is odd","even","3 is odd"]'},
    },
)
