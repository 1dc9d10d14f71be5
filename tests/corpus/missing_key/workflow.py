"""A part that is not there fails the step that reads it, not the one that made the value."""

from tests.corpus.build import Expected, flow, on_failure, or_else, part, ref, sh

workflow = flow(
    "missing-key",
    sh("make", "echo '{\"a\": 1}'", result="dict"),
    sh("reads", 'echo "$1"', part(ref("make"), "b")),
    # A default is for outputs that are missing, not for parts.
    sh("defaults", 'echo "$1"', or_else(part(ref("make"), "b"), "none")),
    sh("handle", "true", depends_on=[on_failure("reads"), on_failure("defaults")]),
)
expected = Expected("succeeded", succeeded="make handle", failed="reads defaults")
