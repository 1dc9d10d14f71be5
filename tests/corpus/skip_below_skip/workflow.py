"""A skip is passed on by conditions, not by order; defaults are read at the end of the row."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    on_failure,
    or_else,
    param,
    parameter,
    ref,
    sh,
)

is_on = compare(param("on"), "==", True)

workflow = flow(
    "skip-below-skip",
    sh("a", "echo a", when=is_on),
    sh("b", 'echo "$1"', ref("a"), when=is_on),
    sh("c", 'echo "$1"', or_else(ref("b"), "nothing")),
    sh("unmet", "true", depends_on=[on_failure("a")]),
    parameters=[parameter("on", False, "bool")],
)
expected = Expected(
    "succeeded",
    succeeded="c",
    skipped="a b unmet",
    outputs={"c": {"result": "nothing"}},
)
