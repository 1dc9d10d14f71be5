"""Each item of a foreach has a loop inside its group, of its own length."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    given,
    group,
    item,
    last,
    out,
    param,
    ref,
    sh,
    while_,
)

workflow = flow(
    "loop-in-foreach",
    group(
        "each",
        sh(
            "count",
            "echo $(($1 + $2))",
            last(initial=0),
            param("n"),
            result="int",
            loop=while_(compare(last(), "<", 4)),
        ),
        inputs=[given("n", item(), "int")],
        outputs=[out("end", "int", source=ref("count"))],
        foreach=[2, 3, 4],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="each each[0] each[0]/count each[0]/count@0 each[0]/count@1 "
    "each[1] each[1]/count each[1]/count@0 each[1]/count@1 "
    "each[2] each[2]/count each[2]/count@0",
    outputs={"each": {"end": [4, 6, 4]}},
)
