"""Files from outside of the workflow: by a key with a value in it, and with their content."""

from couler.ir.artifacts import RawLocation, S3Location
from couler.ir.workflow import Input
from tests.corpus.build import (
    Expected,
    flow,
    given,
    group,
    item,
    out,
    param,
    parameter,
    ref,
    sh,
    text,
)

workflow = flow(
    "file-from-location",
    sh(
        "read",
        'cat "$COULER_INPUT_table" "$COULER_INPUT_note"; stat -c %a "$COULER_INPUT_note"',
        inputs=[
            Input(
                name="table",
                type="file",
                at=S3Location(key=text("tables/", param("day"), ".csv")),
            ),
            Input(
                name="note",
                type="file",
                at=RawLocation(content=text("day: ", param("day"), "\n")),
                mode=0o640,
            ),
        ],
    ),
    sh(
        "each",
        'cat "$COULER_INPUT_table"',
        foreach=["monday", "tuesday"],
        inputs=[
            Input(name="table", type="file", at=S3Location(key=text("tables/", item(), ".csv"))),
        ],
    ),
    group(
        "inside",
        sh(
            "folder",
            'cd "$COULER_INPUT_tables" && ls',
            inputs=[Input(name="tables", type="directory", at=S3Location(key=param("where")))],
        ),
        inputs=[given("where", ref("place"))],
        outputs=[out("names", source=ref("folder"))],
    ),
    sh("place", "echo tables"),
    parameters=[parameter("day", "monday")],
)
artifacts = {"tables/monday.csv": b"1,2\n", "tables/tuesday.csv": b"3,4\n"}
expected = Expected(
    "succeeded",
    succeeded="read each each[0] each[1] place inside inside/folder",
    outputs={
        "read": {"result": "1,2\nday: monday\n640"},
        "each[1]": {"result": "3,4"},
        "inside": {"names": "monday.csv\ntuesday.csv"},
    },
)
