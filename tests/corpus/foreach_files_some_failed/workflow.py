"""Of a failed foreach the files of the items that did well are gathered under their numbers."""

from tests.corpus.build import Expected, flow, given, item, on_completion, or_else, out, ref, sh

workflow = flow(
    "foreach-files-some-failed",
    sh(
        "write",
        'test "$1" != b && echo "$1" > "$COULER_WORK/f"',
        item(),
        foreach=["a", "b", "c"],
        outputs=[out("f", "file", "f")],
    ),
    sh(
        "all",
        'cd "$COULER_INPUT_files" && ls && cat *',
        inputs=[given("files", or_else(ref("write", "f"), []), "file", "files", many=True)],
        depends_on=[on_completion("write")],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="write[0] write[2] all",
    failed="write write[1]",
    outputs={"all": {"result": "0\n2\na\nc"}},
)
