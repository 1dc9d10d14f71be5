"""A file for each item; the files gathered in a folder, and item by item in another foreach."""

from tests.corpus.build import Expected, flow, given, item, out, ref, sh

workflow = flow(
    "foreach-files",
    sh(
        "write",
        'echo "$1" > "$COULER_WORK/f"',
        item(),
        foreach=["a", "b", "c"],
        outputs=[out("f", "file", "f")],
    ),
    sh(
        "all",
        'cd "$COULER_INPUT_files" && ls && cat 0 1 2',
        inputs=[given("files", ref("write", "f"), "file", "files", many=True)],
    ),
    sh(
        "each",
        'cat "$COULER_INPUT_f"',
        foreach=ref("write", "f"),
        inputs=[given("f", item(), "file")],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="write write[0] write[1] write[2] all each each[0] each[1] each[2]",
    outputs={"all": {"result": "0\n1\n2\na\nb\nc"}, "each": {"result": ["a", "b", "c"]}},
)
