"""Items from a parameter: objects, of which each instance reads a part."""

from tests.corpus.build import Expected, flow, item, param, parameter, part, sh

workflow = flow(
    "foreach-over-parameter",
    sh("greet", 'echo "$1 $2"', part(item(), "word"), part(item(), "to", 0), foreach=param("who")),
    parameters=[parameter("who", [{"word": "hi", "to": ["you"]}], "list")],
)
parameters = {"who": [{"word": "good", "to": ["day"]}, {"word": "bye", "to": ["now", "then"]}]}
expected = Expected(
    "succeeded",
    succeeded="greet greet[0] greet[1]",
    outputs={"greet": {"result": ["good day", "bye now"]}},
)
