"""A file through two steps, by relative paths and by the variable that tells the path."""

from tests.corpus.build import Expected, flow, given, out, ref, sh

workflow = flow(
    "files",
    sh(
        "write",
        'cd "$COULER_WORK"; mkdir data; printf "a\\nb\\n" > data/raw',
        outputs=[out("raw", "file", "data/raw")],
    ),
    sh(
        "change",
        # What it does to its own copy is its own affair.
        'cd "$COULER_WORK"; cat in/place > out.txt; echo c >> out.txt; echo spoilt > in/place',
        inputs=[given("raw", ref("write", "raw"), "file", "in/place")],
        outputs=[out("changed", "file", "out.txt")],
    ),
    sh(
        "read",
        'cat "$COULER_INPUT_raw" "$COULER_INPUT_changed"',
        inputs=[
            given("raw", ref("write", "raw"), "file"),
            given("changed", ref("change", "changed"), "file"),
        ],
    ),
)
expected = Expected(
    "succeeded",
    succeeded="write change read",
    outputs={"read": {"result": "a\nb\na\nb\nc"}},
)
