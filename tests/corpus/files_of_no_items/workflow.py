"""A foreach over nothing makes no files: their folder is there, and has nothing in it."""

from couler.ir.values import Value
from couler.ir.workflow import ExitHandler, Step
from tests.corpus.build import Expected, flow, given, group, item, or_else, out, param, ref, sh


def write(name: str, items: object) -> Step:
    return sh(
        name,
        'echo "$1" > "$COULER_WORK/f"',
        item(),
        foreach=items,
        outputs=[out("f", "file", "f")],
    )


def count(name: str, files: Value, **fields: object) -> Step:
    script = 'cd "$COULER_INPUT_files" && ls | wc -l | tr -d " "'
    return sh(name, script, inputs=[given("files", files, "file", "files", many=True)], **fields)


workflow = flow(
    "files-of-no-items",
    sh("nothing", "echo '[]'", result="list"),
    sh("letters", """echo '["a", "b"]'""", result="list"),
    write("none", []),
    write("none-made", ref("nothing")),
    write("some", ref("letters")),
    count("of-none", ref("none", "f")),
    count("of-none-made", ref("none-made", "f")),
    count("of-some", ref("some", "f")),
    count("last", ref("none-made", "f")),
    count("often", ref("none-made", "f"), foreach=[1, 2]),
    sh("all", 'echo "$1"', ref("often")),
    group(
        "inside",
        count("of-none", param("empty")),
        group(
            "deeper",
            count("of-some", param("full")),
            inputs=[given("full", param("full"), "file", many=True)],
        ),
        inputs=[
            given("empty", ref("none-made", "f"), "file", many=True),
            given("full", ref("some", "f"), "file", many=True),
        ],
    ),
    exit_handlers=[
        ExitHandler(
            name="tell", on="any", steps=(sh("say", 'echo "$1"', or_else(ref("last"), "?")),)
        )
    ],
)
expected = Expected(
    "succeeded",
    succeeded="""
    nothing letters none none-made some some[0] some[1] of-none of-none-made of-some
    last often often[0] often[1] all inside inside/of-none inside/deeper inside/deeper/of-some
    exit:tell exit:tell/say
    """,
    outputs={
        "of-none": {"result": "0"},
        "of-none-made": {"result": "0"},
        "of-some": {"result": "2"},
        "all": {"result": '["0","0"]'},
        "exit:tell/say": {"result": "0"},
        "inside/of-none": {"result": "0"},
        "inside/deeper/of-some": {"result": "2"},
    },
)
