"""A list gathered from a foreach may take 96 KiB; above it the foreach fails, not its items."""

from tests.corpus.build import Expected, flow, item, ref, words

LINE = "import sys; print('x' * int(sys.argv[1]))"

workflow = flow(
    "list-too-large",
    words("fits", "python", "-c", LINE, item(), foreach=[49_000, 49_000]),
    words("large", "python", "-c", LINE, item(), foreach=[50_000, 50_000]),
    words("after", "python", "-c", "", ref("large")),
)
expected = Expected(
    "failed",
    succeeded="fits fits[0] fits[1] large[0] large[1]",
    failed="large",
    omitted="after",
)
