"""A list of files where there are none fails, and so does one of what is a file itself."""

from tests.corpus.build import Expected, flow, listing, ref, words

artifacts = {"tables/b.csv": b"b"}

workflow = flow(
    "list-files-of-nothing",
    listing("nothing", "pictures"),
    listing("alike", "tab"),
    listing("one", "tables/b.csv"),
    words("after", "echo", ref("nothing")),
)
expected = Expected("failed", failed="nothing alike one", omitted="after")
