"""A step that ran is read, although there is a default."""

from tests.corpus.build import Expected, compare, flow, or_else, param, parameter, ref, sh

workflow = flow(
    "or-else-of-run",
    sh("maybe", "echo there", when=compare(param("wanted"), "==", True)),
    sh("after", 'echo "$1"', or_else(ref("maybe"), "default")),
    parameters=[parameter("wanted", False, "bool")],
)
parameters = {"wanted": True}
expected = Expected(
    "succeeded",
    succeeded="maybe after",
    outputs={"after": {"result": "there"}},
)
