"""A group takes in a list and runs over it."""

from tests.corpus.build import Expected, flow, given, group, item, out, param, ref, sh

workflow = flow(
    "foreach-over-output-in-group",
    sh("list", "echo '[1, 2]'", result="list"),
    group(
        "work",
        sh("more", "echo '[5, 6]'", result="list"),
        sh("outer", "echo $(($1 + 1))", item(), foreach=param("items"), result="int"),
        sh("inner", "echo $(($1 + 1))", item(), foreach=ref("more"), result="int"),
        inputs=[given("items", ref("list"), "list")],
        outputs=[
            out("outer", "list", source=ref("outer")),
            out("inner", "list", source=ref("inner")),
        ],
    ),
    sh("end", 'echo "$1 $2"', ref("work", "outer"), ref("work", "inner")),
)
expected = Expected(
    "succeeded",
    succeeded="list work work/more work/outer work/outer[0] work/outer[1] "
    "work/inner work/inner[0] work/inner[1] end",
    outputs={"end": {"result": "[2,3] [6,7]"}},
)
