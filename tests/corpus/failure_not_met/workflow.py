"""A step that asks for a failure and meets none is skipped, and the run succeeds."""

from tests.corpus.build import Expected, flow, on_failure, or_else, ref, sh

workflow = flow(
    "failure-not-met",
    sh("work", "echo fine"),
    sh("repair", "echo repaired", depends_on=[on_failure("work")]),
    sh("report", 'echo "$1 $2"', ref("work"), or_else(ref("repair"), "without repair")),
)
expected = Expected(
    "succeeded",
    succeeded="work report",
    skipped="repair",
    outputs={"report": {"result": "fine without repair"}},
)
