"""Comparisons by kind, and how `and`, `or` and `not` join them."""

from tests.corpus.build import (
    Expected,
    both,
    compare,
    either,
    flow,
    negate,
    param,
    parameter,
    ref,
    sh,
)

true = compare(param("n"), "==", 10)
false = compare(param("n"), "<", 10)

workflow = flow(
    "condition-operators",
    sh("nine", "echo 9"),
    sh("as-number", "true", when=compare(ref("nine"), "<", 10)),
    sh("as-text", "true", when=compare(ref("nine"), "<", "10")),
    sh("equal-number", "true", when=compare(ref("nine"), "==", 9.0)),
    sh("flag", "true", when=compare(param("flag"), "!=", False)),
    sh("list", "true", when=compare(param("list"), "==", [1, 2])),
    sh("and", "true", when=both(true, negate(false))),
    sh("or", "true", when=either(false, false)),
    sh("short", "true", when=either(true, compare(ref("word"), ">", 1))),
    sh("word", "echo word"),
    parameters=[
        parameter("n", 10, "int"),
        parameter("flag", True, "bool"),
        parameter("list", [1, 2], "list"),
    ],
)
expected = Expected(
    "succeeded",
    succeeded="nine word as-number equal-number flag list and short",
    skipped="as-text or",
)
