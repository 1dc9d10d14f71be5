"""Several steps in each round; a value is carried from round to round."""

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
    "loop-group",
    group(
        "refine",
        sh("step", "echo $(($1 * 2))", param("n"), result="int"),
        sh("check", "test $1 -lt 20 && echo more || echo enough", ref("step")),
        inputs=[given("n", last("n", initial=3), "int")],
        outputs=[out("n", "int", source=ref("step")), out("verdict", source=ref("check"))],
        loop=while_(compare(last("verdict"), "==", "more")),
    ),
    sh("end", 'echo "$1"', ref("refine", "n")),
)
expected = Expected(
    "succeeded",
    succeeded="refine refine@0 refine@0/step refine@0/check refine@1 refine@1/step "
    "refine@1/check refine@2 refine@2/step refine@2/check end",
    outputs={"refine@1": {"n": 12}, "refine": {"n": 24}, "end": {"result": "24"}},
)
