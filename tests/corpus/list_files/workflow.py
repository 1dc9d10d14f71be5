"""Lists of the files below a key: all, those that fit a pattern, none; a foreach fetches each."""

from couler.ir.artifacts import S3Location
from couler.ir.workflow import Input
from tests.corpus.build import Expected, flow, item, listing, param, parameter, ref, sh, text

artifacts = {
    "tables/b.csv": b"b",
    "tables/2024/a.csv": b"a",
    "tables/2024/01/a.csv": b"first",
    "tables/note $(x).txt": b"text",
    "tables-old/c.csv": b"c",
}

workflow = flow(
    "list-files",
    listing("every", "tables"),
    listing("top", "tables", "*.csv"),
    listing("deep", text(param("folder"), "/2024"), "**/[!b].csv"),
    listing("folders", text(param("folder"), "/"), "20??/*"),
    listing("none", "tables", "*.zip"),
    sh(
        "each",
        'cat "$COULER_INPUT_table"',
        inputs=[Input(name="table", type="file", at=S3Location(key=item()))],
        foreach=ref("deep"),
    ),
    listing("by_item", text("tables/", item()), "*.csv", foreach=["2024", "2024/01"]),
    sh("all", 'echo "$1"', ref("each")),
    parameters=[parameter("folder", "tables")],
)
expected = Expected(
    "succeeded",
    succeeded="every top deep folders none each each[0] each[1] by_item by_item[0] by_item[1] all",
    outputs={
        "every": {
            "result": [
                "tables/2024/01/a.csv",
                "tables/2024/a.csv",
                "tables/b.csv",
                "tables/note $(x).txt",
            ]
        },
        "top": {"result": ["tables/b.csv"]},
        "deep": {"result": ["tables/2024/01/a.csv", "tables/2024/a.csv"]},
        "folders": {"result": ["tables/2024/a.csv"]},
        "none": {"result": []},
        "by_item": {"result": [["tables/2024/a.csv"], ["tables/2024/01/a.csv"]]},
        "all": {"result": '["first","a"]'},
    },
)
