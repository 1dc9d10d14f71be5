"""A foreach over literals inside a foreach: lists of lists."""

from tests.corpus.build import Expected, flow, given, group, item, out, param, ref, sh

workflow = flow(
    "foreach-in-foreach",
    group(
        "row",
        sh("cell", 'echo "$1$2"', param("letter"), item(), foreach=[1, 2]),
        inputs=[given("letter", item())],
        outputs=[out("cells", "list", source=ref("cell"))],
        foreach=["a", "b"],
    ),
    sh("table", 'echo "$1"', ref("row", "cells")),
)
expected = Expected(
    "succeeded",
    succeeded="row row[0] row[0]/cell row[0]/cell[0] row[0]/cell[1] "
    "row[1] row[1]/cell row[1]/cell[0] row[1]/cell[1] table",
    outputs={
        "row": {"cells": [["a1", "a2"], ["b1", "b2"]]},
        "table": {"result": '[["a1","a2"],["b1","b2"]]'},
    },
)
