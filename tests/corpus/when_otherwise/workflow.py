"""Two branches of which one runs; the reader takes the output of the one that did."""

from tests.corpus.build import Expected, compare, first_of, flow, negate, ref, sh

is_large = compare(ref("measure"), ">", 100)

workflow = flow(
    "when-otherwise",
    sh("measure", "echo 42"),
    sh("large", "echo large", when=is_large),
    sh("small", "echo small", when=negate(is_large)),
    sh("report", 'echo "it was $1"', first_of(ref("large"), ref("small"))),
)
expected = Expected(
    "succeeded",
    succeeded="measure small report",
    skipped="large",
    outputs={"report": {"result": "it was small"}},
)
