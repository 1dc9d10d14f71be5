"""A directory with what is in it."""

from tests.corpus.build import Expected, flow, given, out, ref, sh

workflow = flow(
    "directory",
    sh(
        "write",
        'cd "$COULER_WORK"; mkdir -p d/sub; echo 1 > d/one; echo 2 > d/sub/two',
        outputs=[out("d", "directory", "d")],
    ),
    sh(
        "read",
        'cat "$COULER_INPUT_d/one" "$COULER_INPUT_d/sub/two"',
        inputs=[given("d", ref("write", "d"), "directory", "given")],
    ),
)
expected = Expected("succeeded", succeeded="write read", outputs={"read": {"result": "1\n2"}})
