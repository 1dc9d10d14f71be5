"""Ranges whose ends are outputs and parameters; beside a list, inside a group, and as a value."""

from tests.corpus.build import Expected, flow, given, group, item, param, parameter, ref, rng, sh

workflow = flow(
    "foreach-range-of-outputs",
    sh("first", "echo 3", result="int"),
    sh("text", "echo 2"),
    sh("counted", 'echo "$1"', item(), foreach=rng(ref("first"), count=ref("text"), format="%02d")),
    sh("down", 'echo "$1"', item(), foreach=rng(ref("first"), end=param("last"))),
    sh("none", "true", foreach=rng(count=param("least"))),
    sh(
        "pair",
        'echo "$1$2"',
        item("letter"),
        item("number"),
        foreach={"letter": ["a", "b", "c"], "number": rng(param("last"), end=ref("first"))},
    ),
    group(
        "inside",
        sh("each", 'echo "$1"', item(), foreach=rng(1, end=param("upto"))),
        sh("shown", 'echo "$1"', ref("each")),
        inputs=[given("upto", ref("text"))],
    ),
    sh("whole", 'echo "$1"', rng(ref("first"), end=param("least"), format="%4d")),
    sh("all", 'echo "$1$2$3"', ref("counted"), ref("down"), ref("none")),
    parameters=[parameter("last", 1, "int"), parameter("least", -1, "int")],
)
expected = Expected(
    "succeeded",
    succeeded="first text counted counted[0] counted[1] down down[0] down[1] down[2] none "
    "pair pair[0] pair[1] pair[2] "
    "inside inside/each inside/each[0] inside/each[1] inside/shown whole all",
    outputs={
        "pair": {"result": ["a1", "b2", "c3"]},
        "inside/shown": {"result": '["1","2"]'},
        "whole": {"result": '["   3","   2","   1","   0","  -1"]'},
        "all": {"result": '["03","04"]["3","2","1"][]'},
    },
)
