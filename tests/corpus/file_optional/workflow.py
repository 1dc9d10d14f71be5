"""Files that need not be there: taken from outside, written, and read from another step."""

from couler.ir.artifacts import S3Location
from couler.ir.workflow import Input, Output
from tests.corpus.build import Expected, flow, ref, sh

tell = 'if [ -e "$COULER_INPUT_note" ]; then cat "$COULER_INPUT_note"; else echo none; fi'

workflow = flow(
    "file-optional",
    sh(
        "absent",
        tell,
        inputs=[Input(name="note", type="file", at=S3Location(key="notes/no"), optional=True)],
    ),
    sh(
        "present",
        tell,
        inputs=[Input(name="note", type="file", at=S3Location(key="notes/yes"), optional=True)],
    ),
    sh(
        "write",
        'cd "$COULER_WORK"; echo kept > one',
        outputs=[
            Output(name="one", type="file", path="one", optional=True),
            Output(name="two", type="file", path="two", optional=True),
        ],
    ),
    sh(
        "read-one",
        tell,
        inputs=[Input(name="note", type="file", value=ref("write", "one"), optional=True)],
    ),
    sh(
        "read-two",
        tell,
        inputs=[Input(name="note", type="file", value=ref("write", "two"), optional=True)],
    ),
)
artifacts = {"notes/yes": b"here\n"}
expected = Expected(
    "succeeded",
    succeeded="absent present write read-one read-two",
    outputs={
        "absent": {"result": "none"},
        "present": {"result": "here"},
        "read-one": {"result": "kept"},
        "read-two": {"result": "none"},
    },
)
