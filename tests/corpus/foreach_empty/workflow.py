"""A foreach over nothing succeeds, with empty lists as outputs."""

from tests.corpus.build import Expected, flow, given, item, py, ref, sh

workflow = flow(
    "foreach-empty",
    sh("list", "echo '[]'", result="list"),
    sh("each", 'echo "$1"', item(), foreach=ref("list")),
    sh("again", 'echo "$1"', item(), foreach=ref("each")),
    py(
        "count",
        """
        import json, os
        print(len(json.loads(os.environ["COULER_INPUT_all"])))
        """,
        inputs=[given("all", ref("again"), "list")],
        result="int",
    ),
)
expected = Expected(
    "succeeded",
    succeeded="list each again count",
    outputs={"each": {"result": []}, "count": {"result": 0}},
)
