"""What tests take for the outcome of a run: what its tasks say, and no more."""

from __future__ import annotations

from collections.abc import Mapping

from couler.ir.workflow import Workflow
from tests.corpus.build import flow, group, on_completion, out, ref, sh
from tests.support.airflow_outcome import AirflowOutcome

BAD = sh("bad", "exit 1")
WAITS = flow(
    "waits",
    BAD,
    group(
        "g", sh("a", "true"), sh("b", "true", depends_on=[on_completion("a")]), depends_on=["bad"]
    ),
)
PLAIN = flow(
    "plain",
    BAD,
    group("g", sh("a", "echo 1"), depends_on=["bad"], outputs=[out("x", source=ref("a"))]),
)
BELOW = {"g.when": "upstream_failed", "g.a": "upstream_failed", "g.b": "upstream_failed"}
OWN = {"g.b-needs": "success", "g.end": "failed"}


def outcome(workflow: Workflow, tasks: Mapping[str, str]) -> AirflowOutcome:
    states = {
        (name.partition("[")[0], int(name.partition("[")[2].rstrip("]") or -1)): state
        for name, state in {"bad": "failed", **tasks}.items()
    }
    return AirflowOutcome(workflow, "failed", states, {})


def test_a_failure_before_a_group_is_no_reason_to_take_it_for_omitted() -> None:
    ran = {"g.when": "success", "g.a": "success", "g.b-needs": "success", "g.b": "success"}
    assert outcome(WAITS, {**ran, "g.end": "success"}).states["g"] == "succeeded"
    assert outcome(WAITS, {**ran, "g.end": "failed"}).states["g"] == "failed"
    assert outcome(PLAIN, {"g.a": "upstream_failed"}).states == {"bad": "failed", "g": "omitted"}
    ran = {"bad": "failed", "g/a": "succeeded", "g": "succeeded"}
    assert outcome(PLAIN, {"g.a": "success"}).states == ran


def test_outputs_of_a_group_without_a_last_task_are_those_of_what_reads_them() -> None:
    found = outcome(PLAIN, {"g.a": "success"})
    assert found.inlined == {"g"}
    assert found.outputs == {}
    assert outcome(WAITS, {**BELOW, **OWN}).inlined == set()
