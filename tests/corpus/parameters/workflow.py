"""Parameters of every type: given, by default, and with choices."""

from couler.ir.workflow import Parameter
from tests.corpus.build import Expected, flow, param, parameter, sh

workflow = flow(
    "parameters",
    sh("show", 'echo "$1|$2|$3|$4|$5|$6"', *map(param, ("text", "n", "x", "flag", "tree", "any"))),
    parameters=[
        parameter("text"),
        parameter("n", 1, "int"),
        parameter("x", 0.5, "float"),
        Parameter(name="flag", type="bool", default=True, choices=(True, False)),
        parameter("tree", {"a": [1]}, "dict"),
        Parameter(name="any", type="json", default="d", choices=("d", 1)),
    ],
)
parameters = {"text": "given $(X)", "n": "7", "flag": False}
expected = Expected(
    "succeeded",
    succeeded="show",
    outputs={"show": {"result": 'given $(X)|7|0.5|false|{"a":[1]}|d'}},
)
