"""A file that is put at a location, read there and as any other file of a step."""

from couler.ir.artifacts import S3Location
from couler.ir.workflow import Input, Output
from tests.corpus.build import (
    Expected,
    flow,
    given,
    group,
    out,
    param,
    parameter,
    ref,
    sh,
    text,
    words,
)

kept = S3Location(key=text("models/", param("name"), ".bin"))

workflow = flow(
    "file-kept-at-location",
    sh(
        "make",
        'printf good > "$COULER_WORK/model"; mkdir "$COULER_WORK/parts"; '
        'echo 1 > "$COULER_WORK/parts/one"; echo 2 > "$COULER_WORK/parts/two"',
        outputs=[
            Output(name="model", type="file", path="model", at=kept),
            Output(name="parts", type="directory", path="parts", at=S3Location(key="parts/all")),
        ],
    ),
    sh(
        "read",
        'cat "$COULER_INPUT_model"; cat "$COULER_INPUT_parts"/*',
        inputs=[
            given("model", ref("make", "model"), "file"),
            given("parts", ref("make", "parts"), "directory"),
        ],
    ),
    sh(
        "fetch",
        'cat "$COULER_INPUT_model"',
        inputs=[Input(name="model", type="file", at=kept)],
        depends_on=["make"],
    ),
    group(
        "inside",
        sh("look", 'cat "$COULER_INPUT_it"', inputs=[given("it", param("model"), "file")]),
        inputs=[given("model", ref("make", "model"), "file")],
        outputs=[out("text", source=ref("look"))],
    ),
    words("done", "true", depends_on=["inside"]),
    parameters=[parameter("name", "first")],
)
expected = Expected(
    "succeeded",
    succeeded="make read fetch inside inside/look done",
    outputs={
        "read": {"result": "good1\n2"},
        "fetch": {"result": "good"},
        "inside": {"text": "good"},
    },
)
