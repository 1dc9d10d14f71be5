"""A group for each item, given a text around the item, whose step writes a file: each its own."""

from tests.corpus.build import Expected, flow, given, group, item, out, param, ref, sh, text

workflow = flow(
    "foreach-group-files",
    group(
        "each",
        sh(
            "write",
            'sleep 1; echo "$1" > "$COULER_WORK/f"',
            param("x"),
            outputs=[out("f", "file", "f")],
        ),
        sh("again", 'cat "$COULER_INPUT_f"', inputs=[given("f", ref("write", "f"), "file")]),
        foreach=["a", "b", "c"],
        inputs=[given("x", text("x-", item()))],
        outputs=[out("f", "file", source=ref("write", "f")), out("told", source=ref("again"))],
    ),
    sh(
        "read",
        'cat "$COULER_INPUT_f"',
        foreach=ref("each", "f"),
        inputs=[given("f", item(), "file")],
    ),
)
expected = Expected(
    "succeeded",
    succeeded=(
        "each each[0] each[0]/write each[0]/again each[1] each[1]/write each[1]/again "
        "each[2] each[2]/write each[2]/again read read[0] read[1] read[2]"
    ),
    outputs={
        "each": {"told": ["x-a", "x-b", "x-c"]},
        "read": {"result": ["x-a", "x-b", "x-c"]},
    },
)
