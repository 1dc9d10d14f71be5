"""A step under the same condition, or a stricter one, reads without a default."""

from tests.corpus.build import Expected, both, compare, flow, param, parameter, ref, sh

is_large = compare(param("n"), ">", 10)
is_huge = both(is_large, compare(param("n"), ">", 1000))

workflow = flow(
    "safe-read",
    sh("a", "echo $(($1 * 2))", param("n"), when=is_large, result="int"),
    sh("b", 'echo "$1!"', ref("a"), when=is_large),
    sh("c", 'echo "$1?"', ref("a"), when=is_huge),
    parameters=[parameter("n", 11, "int")],
)
expected = Expected(
    "succeeded",
    succeeded="a b",
    skipped="c",
    outputs={"b": {"result": "22!"}},
)
