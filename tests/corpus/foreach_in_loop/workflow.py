"""Each round runs over a list that the round before made."""

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
    part,
    ref,
    sh,
    while_,
)

workflow = flow(
    "foreach-in-loop",
    group(
        "grow",
        sh("each", "echo $(($1 * 2))", item(), foreach=param("items"), result="int"),
        inputs=[given("items", last("items", initial=[1, 3]), "list")],
        outputs=[out("items", "list", source=ref("each"))],
        loop=while_(compare(part(last("items"), 0), "<", 4)),
    ),
)
expected = Expected(
    "succeeded",
    succeeded="grow grow@0 grow@0/each grow@0/each[0] grow@0/each[1] "
    "grow@1 grow@1/each grow@1/each[0] grow@1/each[1]",
    outputs={"grow@0": {"items": [2, 6]}, "grow": {"items": [4, 12]}},
)
