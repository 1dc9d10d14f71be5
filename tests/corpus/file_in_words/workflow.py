"""A file that a process takes by its path, as a word of its command."""

from couler.ir.workflow import Container, Input, Step
from tests.corpus.build import SHELL_IMAGE, Expected, flow, out, ref, sh

PLACE = "/tmp/couler/inputs/data"

workflow = flow(
    "file-in-words",
    sh("write", 'echo hello > "$COULER_WORK/data"', outputs=[out("data", "file", path="data")]),
    Step(
        name="read",
        action=Container(image=SHELL_IMAGE, command=("cat",), args=(PLACE,)),
        inputs=(Input(name="data", value=ref("write", "data"), type="file", path=PLACE),),
    ),
    sh("end", 'echo "$1"', ref("read")),
)
expected = Expected(
    "succeeded",
    succeeded="write read end",
    outputs={"read": {"result": "hello"}, "end": {"result": "hello"}},
)
