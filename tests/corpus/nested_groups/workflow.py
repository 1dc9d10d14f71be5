"""Groups in groups; an output comes out through both."""

from tests.corpus.build import Expected, flow, given, group, out, param, ref, sh

workflow = flow(
    "nested-groups",
    group(
        "outer",
        sh("first", "echo $(($1 + 1))", param("n"), result="int"),
        group(
            "inner",
            sh("second", "echo $(($1 * 10))", param("m"), result="int"),
            inputs=[given("m", ref("first"), "int")],
            outputs=[out("big", "int", source=ref("second"))],
        ),
        sh("third", "echo $(($1 + 3))", ref("inner", "big"), result="int"),
        inputs=[given("n", 4, "int")],
        outputs=[
            out("sum", "int", source=ref("third")),
            out("first", "int", source=ref("first")),
        ],
    ),
    sh("end", 'echo "$1 from $2"', ref("outer", "sum"), ref("outer", "first")),
)
expected = Expected(
    "succeeded",
    succeeded="outer outer/first outer/inner outer/inner/second outer/third end",
    outputs={
        "outer": {"sum": 53, "first": 5},
        "outer/inner": {"big": 50},
        "end": {"result": "53 from 5"},
    },
)
