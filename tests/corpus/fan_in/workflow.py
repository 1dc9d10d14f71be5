"""One instance an item, and one step that reads the list of their outputs in item order."""

from tests.corpus.build import Expected, flow, given, item, py, ref, sh

workflow = flow(
    "fan-in",
    sh("square", "echo $(($1 * $1))", item(), foreach=[3, 1, 2], result="int"),
    py(
        "total",
        """
        import json, os
        print(sum(json.loads(os.environ["COULER_INPUT_squares"])))
        """,
        inputs=[given("squares", ref("square"), "list")],
        result="int",
    ),
)
expected = Expected(
    "succeeded",
    succeeded="square square[0] square[1] square[2] total",
    outputs={"square": {"result": [9, 1, 4]}, "square[1]": {"result": 1}, "total": {"result": 14}},
)
