"""Ranges whose ends are known: from 0, from elsewhere, downwards, with a format, and empty."""

from tests.corpus.build import Expected, flow, given, group, item, out, param, ref, rng, sh

workflow = flow(
    "foreach-range",
    sh("plain", 'echo "$1"', item(), foreach=rng(count=3)),
    sh("down", 'echo "$1"', item(), foreach=rng(1, end=-1, format="n%03d-")),
    sh("none", "true", foreach=rng(5, count=-2)),
    sh(
        "row",
        'echo "$1$2"',
        item("letter"),
        item("number"),
        foreach={"letter": ["a", "b"], "number": rng(8, end=9)},
    ),
    group(
        "outer",
        sh("cell", 'echo "$1$2"', param("x"), item(), foreach=rng(count=2)),
        inputs=[given("x", item(), "int")],
        outputs=[out("cells", "list", source=ref("cell"))],
        foreach=rng(1, count=2),
    ),
    sh("all", 'echo "$1$2$3"', ref("plain"), ref("down"), ref("none")),
)
expected = Expected(
    "succeeded",
    succeeded="plain plain[0] plain[1] plain[2] down down[0] down[1] down[2] none "
    "row row[0] row[1] outer outer[0] outer[0]/cell outer[0]/cell[0] outer[0]/cell[1] "
    "outer[1] outer[1]/cell outer[1]/cell[0] outer[1]/cell[1] all",
    outputs={
        "row": {"result": ["a8", "b9"]},
        "outer": {"cells": [["10", "11"], ["20", "21"]]},
        "all": {"result": '["0","1","2"]["n001-","n000-","n-01-"][]'},
    },
)
