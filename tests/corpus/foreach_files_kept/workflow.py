"""Each item puts its file at a place of its own; a later step finds all of them there."""

from couler.ir.artifacts import S3Location
from couler.ir.workflow import Input, Output
from tests.corpus.build import Expected, flow, given, item, ref, sh, text

workflow = flow(
    "foreach-files-kept",
    sh(
        "make",
        'echo "$1" > "$COULER_WORK/part"',
        item(),
        foreach=["a", "b", "c"],
        outputs=[
            Output(
                name="part",
                type="file",
                path="part",
                at=S3Location(key=text("parts/", item(), "/part")),
            )
        ],
    ),
    sh(
        "gather",
        'cat "$COULER_INPUT_parts"/0 "$COULER_INPUT_parts"/2',
        inputs=[given("parts", ref("make", "part"), "file", many=True)],
    ),
    sh(
        "find",
        'cd "$COULER_INPUT_parts" && cat a/part b/part c/part',
        inputs=[Input(name="parts", type="directory", at=S3Location(key="parts"))],
        depends_on=["make"],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="make make[0] make[1] make[2] gather find",
    outputs={"gather": {"result": "a\nc"}, "find": {"result": "a\nb\nc"}},
)
