"""A foreach over something that is no list fails."""

from tests.corpus.build import Expected, flow, item, ref, sh

workflow = flow(
    "foreach-over-no-list",
    sh("object", "echo '{\"a\": 1}'", result="json"),
    sh("each", 'echo "$1"', item(), foreach=ref("object")),
)
expected = Expected("failed", succeeded="object", failed="each")
