"""Standard output need not be declared to be read; without a reader it may be of any size."""

from tests.corpus.build import Expected, compare, flow, group, last, out, ref, sh, while_, words

workflow = flow(
    "undeclared-result",
    sh("read", "echo one", result=None),
    words("unread", "python", "-c", "print('x' * 200_000)", result=None),
    sh("reader", 'echo "$1"', ref("read")),
    sh(
        "loop",
        "echo $(($1 + 1))",
        last(initial=0),
        result=None,
        loop=while_(compare(last(), "<", 2)),
    ),
    group(
        "work",
        sh("inside", "echo in", result=None),
        outputs=[out("said", source=ref("inside"))],
        depends_on=["unread"],
    ),
    outputs=[out("loop", "int", source=ref("loop"))],
)
expected = Expected(
    "succeeded",
    succeeded="read unread reader loop loop@0 loop@1 work work/inside",
    outputs={"reader": {"result": "one"}, "work": {"said": "in"}},
    run_outputs={"loop": 2},
)
