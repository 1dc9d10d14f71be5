"""A leaf that is skipped below a failure does not hide it: the run fails."""

from tests.corpus.build import (
    Expected,
    compare,
    flow,
    on_completion,
    on_failure,
    param,
    parameter,
    sh,
)

workflow = flow(
    "leaf-skipped-below-failure",
    sh("bad", "exit 1"),
    sh("off", "true", when=compare(param("n"), "==", 2), depends_on=[on_completion("bad")]),
    sh("good", "true"),
    sh("unmet", "true", depends_on=[on_failure("good"), on_completion("off")]),
    parameters=[parameter("n", 1, "int")],
)
expected = Expected("failed", succeeded="good", failed="bad", skipped="off unmet")
