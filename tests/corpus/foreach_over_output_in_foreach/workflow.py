"""The inner list is an output of the same item, of a length of its own."""

from tests.corpus.build import Expected, flow, given, group, item, out, param, ref, sh

workflow = flow(
    "foreach-over-output-in-foreach",
    group(
        "row",
        sh("split", 'test "$1" = 1 && echo "[7]" || echo "[8, 9]"', param("n"), result="list"),
        sh("cell", "echo $(($1 + 1))", item(), foreach=ref("split"), result="int"),
        inputs=[given("n", item(), "int")],
        outputs=[out("cells", "list", source=ref("cell"))],
        foreach=[1, 2],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="row row[0] row[0]/split row[0]/cell row[0]/cell[0] "
    "row[1] row[1]/split row[1]/cell row[1]/cell[0] row[1]/cell[1]",
    outputs={"row": {"cells": [[8], [9, 10]]}},
)
