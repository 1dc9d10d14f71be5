"""A step that asks for a failure and meets it has handled it: the run succeeds."""

from tests.corpus.build import Expected, flow, on_failure, sh

workflow = flow(
    "failure-handled",
    sh("fragile", "exit 3"),
    sh("repair", "echo repaired", depends_on=[on_failure("fragile")]),
)
expected = Expected("succeeded", succeeded="repair", failed="fragile")
