"""A file that is an archive is a file: nobody unpacks it on the way."""

from tests.corpus.build import Expected, flow, given, out, ref, sh

workflow = flow(
    "archive-travels",
    sh(
        "pack",
        'cd "$COULER_WORK"; mkdir in; echo text > in/file; tar czf in.tgz in',
        outputs=[out("packed", "file", "in.tgz")],
    ),
    sh(
        "unpack",
        'cd "$COULER_WORK"; test -f "$COULER_INPUT_packed"; '
        'mkdir here; tar xzf "$COULER_INPUT_packed" -C here; cat here/in/file',
        inputs=[given("packed", ref("pack", "packed"), "file")],
    ),
)
expected = Expected("succeeded", succeeded="pack unpack", outputs={"unpack": {"result": "text"}})
