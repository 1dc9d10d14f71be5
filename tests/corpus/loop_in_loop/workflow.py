"""A loop in each round of a loop."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    given,
    group,
    last,
    out,
    param,
    ref,
    sh,
    while_,
)

workflow = flow(
    "loop-in-loop",
    group(
        "outer",
        sh(
            "inner",
            "echo $(($1 + 1))",
            last(initial=param("n")),
            result="int",
            loop=while_(compare(last(), "<", 2)),
        ),
        inputs=[given("n", last("n", initial=0), "int")],
        outputs=[out("n", "int", source=ref("inner"))],
        loop=while_(compare(last("n"), "<", 3)),
    ),
)
expected = Expected(
    "succeeded",
    succeeded="outer outer@0 outer@0/inner outer@0/inner@0 outer@0/inner@1 "
    "outer@1 outer@1/inner outer@1/inner@0",
    outputs={"outer@0": {"n": 2}, "outer": {"n": 3}},
)
