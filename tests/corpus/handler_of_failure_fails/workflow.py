"""A step that asked for a failure and fails itself has not handled it."""

from tests.corpus.build import Expected, flow, on_failure, sh

workflow = flow(
    "handler-of-failure-fails",
    sh("work", "exit 1"),
    sh("repair", "exit 2", depends_on=[on_failure("work")]),
)
expected = Expected("failed", failed="work repair")
