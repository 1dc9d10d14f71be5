"""Lists of different lengths fail the step before any item runs."""

from tests.corpus.build import Expected, flow, item, on_failure, ref, sh

workflow = flow(
    "foreach-unequal-lists",
    sh("numbers", "echo '[1, 2]'", result="list"),
    sh(
        "pair",
        'echo "$1$2"',
        item("letter"),
        item("number"),
        foreach={"letter": ["a", "b", "c"], "number": ref("numbers")},
    ),
    sh("handle", "true", depends_on=[on_failure("pair")]),
)
expected = Expected("succeeded", succeeded="numbers handle", failed="pair")
