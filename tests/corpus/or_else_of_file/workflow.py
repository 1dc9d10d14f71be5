"""A file of a step that was skipped, with none as the default: nothing is at the path."""

from couler.ir.workflow import Input
from tests.corpus.build import (
    Expected,
    compare,
    flow,
    given,
    group,
    or_else,
    out,
    param,
    parameter,
    ref,
    sh,
)

tell = 'if [ -e "$COULER_INPUT_f" ]; then cat "$COULER_INPUT_f"; else echo none; fi'


def write(name, wanted):  # type: ignore[no-untyped-def]
    return sh(
        name,
        'echo here > "$COULER_WORK/f"',
        when=compare(param("wanted"), "==", wanted),
        outputs=[out("f", "file", "f")],
    )


def read(name, value):  # type: ignore[no-untyped-def]
    return sh(name, tell, inputs=[Input(name="f", type="file", value=value, optional=True)])


workflow = flow(
    "or-else-of-file",
    write("skipped", True),
    write("made", False),
    read("none", or_else(ref("skipped", "f"), None)),
    read("some", or_else(ref("made", "f"), None)),
    group(
        "inside",
        read("read", param("f")),
        inputs=[given("f", or_else(ref("skipped", "f"), None), "file")],
        outputs=[out("told", source=ref("read"))],
    ),
    parameters=[parameter("wanted", False, "bool")],
)
expected = Expected(
    "succeeded",
    succeeded="made none some inside inside/read",
    skipped="skipped",
    outputs={
        "none": {"result": "none"},
        "some": {"result": "here"},
        "inside/read": {"result": "none"},
        "inside": {"told": "none"},
    },
)
