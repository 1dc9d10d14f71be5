"""Files that lie packed outside of the workflow; steps see them as they wrote them."""

from couler.ir.artifacts import S3Location, Tar, Zip
from couler.ir.workflow import Input, Output
from tests.corpus.build import Expected, flow, given, ref, sh

folder = S3Location(key="packed/folder.zip")

workflow = flow(
    "file-archived",
    sh(
        "make",
        'cd "$COULER_WORK"; mkdir -p folder/deep; echo a > folder/a; echo b > folder/deep/b; '
        "echo c > note",
        outputs=[
            Output(name="folder", type="directory", path="folder", at=folder, archive=Zip()),
            Output(
                name="note",
                type="file",
                path="note",
                at=S3Location(key="packed/note.tgz"),
                archive=Tar(level=0),
            ),
        ],
    ),
    sh(
        "read",
        'cat "$COULER_INPUT_folder/a" "$COULER_INPUT_folder/deep/b" "$COULER_INPUT_note"',
        inputs=[
            given("folder", ref("make", "folder"), "directory"),
            given("note", ref("make", "note"), "file"),
        ],
    ),
    sh(
        "fetch",
        'cat "$COULER_INPUT_folder/deep/b"; test "$(wc -c < "$COULER_INPUT_packed")" -gt 50',
        inputs=[
            Input(name="folder", type="directory", at=folder, archive=Zip()),
            Input(name="packed", type="file", at=folder),  # as it lies there
        ],
        depends_on=["make"],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="make read fetch",
    outputs={"read": {"result": "a\nb\nc"}, "fetch": {"result": "b"}},
)
