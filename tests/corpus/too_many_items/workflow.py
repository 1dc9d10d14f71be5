"""A list that is known only in the run may have 1,000 items; with one more the foreach fails."""

from tests.corpus.build import Expected, flow, item, ref, sh, words

workflow = flow(
    "too-many-items",
    words("list", "python", "-c", "print(list(range(1001)))", result="list"),
    sh("each", "true", item(), foreach=ref("list")),
)
expected = Expected("failed", succeeded="list", failed="each")
