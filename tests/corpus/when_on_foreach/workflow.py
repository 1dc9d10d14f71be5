"""A condition is evaluated once, before the items; a skipped foreach has no lists."""

from tests.corpus.build import Expected, compare, flow, item, or_else, param, parameter, ref, sh

workflow = flow(
    "when-on-foreach",
    sh("yes", 'echo "$1"', item(), foreach=["a", "b"], when=compare(param("n"), "==", 1)),
    sh("no", 'echo "$1"', item(), foreach=["a", "b"], when=compare(param("n"), "==", 2)),
    sh("end", 'echo "$1"', or_else(ref("no"), ["none"])),
    parameters=[parameter("n", 1, "int")],
)
expected = Expected(
    "succeeded",
    succeeded="yes yes[0] yes[1] end",
    skipped="no",
    outputs={"yes": {"result": ["a", "b"]}, "end": {"result": '["none"]'}},
)
