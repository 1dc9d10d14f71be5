"""A file goes into a group by its input and comes out by its output."""

from tests.corpus.build import Expected, flow, given, group, out, param, ref, sh

workflow = flow(
    "files-through-groups",
    sh("write", 'echo 1 > "$COULER_WORK/f"', outputs=[out("f", "file", "f")]),
    group(
        "work",
        sh(
            "add",
            'cd "$COULER_WORK"; cat given > more; echo 2 >> more',
            inputs=[given("f", param("f"), "file", "given")],
            outputs=[out("more", "file", "more")],
        ),
        inputs=[given("f", ref("write", "f"), "file")],
        outputs=[out("more", "file", source=ref("add", "more"))],
    ),
    sh("read", 'cat "$COULER_INPUT_f"', inputs=[given("f", ref("work", "more"), "file")]),
)
expected = Expected(
    "succeeded",
    succeeded="write work work/add read",
    outputs={"read": {"result": "1\n2"}},
)
