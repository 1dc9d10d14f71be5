"""A failed item fails the foreach, after all items ran; another branch goes on."""

from tests.corpus.build import Expected, flow, item, ref, sh

workflow = flow(
    "foreach-item-fails",
    sh("check", 'test "$1" != bad && echo "$1"', item(), foreach=["one", "bad", "two"]),
    sh("after", 'echo "$1"', ref("check")),
    sh("other", "echo on"),
    sh("other-end", 'echo "$1"', ref("other")),
)
expected = Expected(
    "failed",
    succeeded="check[0] check[2] other other-end",
    failed="check check[1]",
    omitted="after",
    outputs={"check": {"result": ["one", None, "two"]}, "other-end": {"result": "on"}},
)
