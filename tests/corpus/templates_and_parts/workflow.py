"""Text with values in it, and parts of JSON values, also of JSON that came as text."""

from tests.corpus.build import Expected, flow, item, param, parameter, part, ref, sh, text

workflow = flow(
    "templates-and-parts",
    sh("report", 'echo \'{"scores": [3, {"x y": 0.5}], "name": "a b"}\'', result="dict"),
    sh("as-text", "echo '[[1, 2], \"three\"]'"),
    sh(
        "parts",
        'echo "$1|$2|$3|$4"',
        part(ref("report"), "scores", 1, "x y"),
        part(ref("report"), "name"),
        part(ref("report"), "scores"),
        part(ref("as-text"), 0, 1),
    ),
    sh(
        "joined",
        'echo "$1"',
        text(
            "n=", param("n"), ", name=", part(ref("report"), "name"), ", ", part(ref("as-text"), 0)
        ),
    ),
    sh("each", 'echo "$1"', text(param("n"), "/", item()), foreach=part(ref("as-text"), 0)),
    parameters=[parameter("n", 2.5, "float")],
)
expected = Expected(
    "succeeded",
    succeeded="report as-text parts joined each each[0] each[1]",
    outputs={
        "parts": {"result": '0.5|a b|[3,{"x y":0.5}]|2'},
        "joined": {"result": "n=2.5, name=a b, [1,2]"},
        "each": {"result": ["2.5/1", "2.5/2"]},
    },
)
