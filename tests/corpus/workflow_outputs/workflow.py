"""Outputs of the workflow: values of its steps, with a default for one that was skipped."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    item,
    or_else,
    out,
    param,
    parameter,
    part,
    ref,
    sh,
)

workflow = flow(
    "workflow-outputs",
    sh("n", "echo 3", result="int"),
    sh("each", 'echo "$1"', item(), foreach=["a", "b"]),
    sh("off", "echo on", when=compare(param("on"), "==", True)),
    sh("far", 'echo "$1"', item(), foreach=["a"], when=compare(param("how-far"), "==", 1)),
    sh("tree", "echo '{\"a\": [0.5]}'", result="dict"),
    parameters=[parameter("on", False, "bool"), parameter("how-far", 0, "int")],
    outputs=[
        out("n", "int", source=ref("n")),
        out("each", "list", source=ref("each")),
        out("off", source=ref("off"), default="was off"),
        out("off-too", source=or_else(ref("off"), "off too")),
        out("part", "float", source=part(ref("tree"), "a", 0)),
        out("on", "bool", source=param("on")),
        out("far", "list", source=or_else(ref("far"), [])),
    ],
)
expected = Expected(
    "succeeded",
    succeeded="n each each[0] each[1] tree",
    skipped="off far",
    run_outputs={
        "n": 3,
        "each": ["a", "b"],
        "off": "was off",
        "off-too": "off too",
        "part": 0.5,
        "on": False,
        "far": [],
    },
)
