"""Workflows whose parts have runs of their own, under Argo: the outcome is that of one run."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.backends.remote import Connection, RemoteRun, Submission
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Part
from couler.ir.semantics.wire import encode
from couler.ir.verify import verify
from couler.ir.walk import StepPath
from couler.ir.workflow import Step, Suspend, Workflow
from tests.corpus import Case, cases
from tests.corpus.build import flow, sh
from tests.fakes.kubernetes.store import WORKFLOW_TEMPLATES, WORKFLOWS
from tests.oracle.test_argo_parts import compiled, suits, with_runs
from tests.support import argo_oracle
from tests.support.argo_oracle import Resource
from tests.support.argo_outcome import Outcome
from tests.support.divisions import divided
from tests.support.mill_of_flows import Mill

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
]

SEEDS = 8
"""How many random workflows are run; those that Argo cannot take count as well."""


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("case", "workflow"),
    [
        pytest.param(case, workflow, id=case.name)
        for case in cases()
        if suits(case) and (workflow := with_runs(case)) is not None
    ],
)
def test_the_corpus_in_runs(
    case: Case, workflow: Workflow, argo: argo_oracle.Session, shared: Path
) -> None:
    text = compiled(workflow)
    folder = shared / case.name
    folder.mkdir()
    parameters = {name: encode(value) for name, value in case.parameters_with(folder).items()}
    run = argo.run(text, parameters=parameters)
    outcome = Outcome(resolve_defaults(workflow), run)
    expected = case.expected
    assert outcome.states == expected.steps, (run.message, outcome.messages)
    assert outcome.status == expected.status
    assert outcome.run_outputs == expected.run_outputs
    for path, outputs in expected.outputs.items():
        for name, value in outputs.items():
            if name in outcome.outputs.get(path, {}):
                assert outcome.outputs[path][name] == value, (path, name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_random_workflow_in_runs(seed: int, argo: argo_oracle.Session) -> None:
    flat = Mill(seed).workflow()
    if any(found.severity == "error" for found in verify(flat)):
        pytest.skip("the mill made what verification refuses")
    try:
        text = compiled(flat)
        parted = divided(flat, seed)
        other = compiled(parted)
    except (InvalidWorkflowError, UnsupportedFeatureError):
        pytest.skip("Argo cannot run it")
    first = Outcome(resolve_defaults(flat), argo.run(text))
    second = Outcome(resolve_defaults(parted), argo.run(other))
    assert second.states == first.states
    assert (second.status, second.outputs, second.run_outputs) == (
        first.status,
        first.outputs,
        first.run_outputs,
    )


class Remote:
    """Argo as `couler submit` and its neighbours reach it."""

    def __init__(self, session: argo_oracle.Session) -> None:
        fields = {"kubeconfig": str(session.kubeconfig)}
        self.session = session
        self.argo = ArgoBackend().connect(Connection("argo", Target(), fields), {})

    def submit(self, workflow: Workflow, run_id: str) -> RemoteRun:
        workflow = resolve_defaults(workflow)
        artifact = ArgoBackend().compile(workflow, Target())
        place = self.argo.submit(Submission(run_id, workflow, artifact, {}))
        return RemoteRun(run_id, workflow, place)

    def until(self, run: RemoteRun, path: str, state: str) -> None:
        limit = time.monotonic() + argo_oracle.LIMIT_S
        while self.states(run).get(path) != state:
            assert time.monotonic() < limit, self.states(run)
            time.sleep(0.2)

    def states(self, run: RemoteRun) -> dict[str, str]:
        return {str(one.path): one.status for one in self.argo.observe(run).steps}

    def names(self, resource: Resource) -> set[str]:
        return {one["metadata"]["name"] for one in self.session.objects(resource)}


def in_run(run: str, step: Step) -> Step:
    return step.model_copy(update={"part": Part(run=run)})


def test_a_run_in_parts_is_submitted_followed_read_and_deleted(
    argo: argo_oracle.Session, shared: Path
) -> None:
    remote = Remote(argo)
    workflow = flow(
        "followed",
        in_run("a", sh("hold", f"echo begun; until test -e {shared}/go; do sleep 0.1; done")),
        in_run("a", Step(name="ask", action=Suspend())),
        in_run("b", sh("after", "echo ended; exit 3", depends_on=["hold", "ask"])),
    )
    before = remote.names(WORKFLOWS), remote.names(WORKFLOW_TEMPLATES)
    run = remote.submit(workflow, "followed-1")
    looks = remote.argo.follow(run)
    remote.until(run, "ask", "suspended")
    remote.until(run, "hold", "running")
    lines = remote.argo.logs(run, StepPath.parse("hold"), follow=True)
    assert next(lines) == "begun"
    remote.argo.resume(run, StepPath.parse("ask"))
    (shared / "go").touch()
    *_, last = looks
    assert last.status == "failed"
    assert {str(one.path): one.status for one in last.steps} == {
        "hold": "succeeded",
        "ask": "succeeded",
        "after": "failed",
    }
    assert [one.exit_code for one in last.steps if str(one.path) == "after"] == [3]
    assert list(remote.argo.logs(run, StepPath.parse("after"))) == ["ended"]
    phases = {
        one["metadata"]["labels"]["couler/part"]: one["status"]["phase"]
        for one in remote.argo.api.children(str(run.place["uid"]))
    }
    assert phases == {"a": "Succeeded", "b": "Failed"}
    remote.argo.delete(run)
    assert (remote.names(WORKFLOWS), remote.names(WORKFLOW_TEMPLATES)) == before


def test_a_run_in_parts_is_cancelled(argo: argo_oracle.Session) -> None:
    remote = Remote(argo)
    workflow = flow(
        "cancelled",
        in_run("a", sh("hold", "sleep 3600")),
        in_run("b", sh("after", "true", depends_on=["hold"])),
    )
    run = remote.submit(workflow, "cancelled-1")
    remote.until(run, "hold", "running")
    remote.argo.cancel(run)
    *_, last = remote.argo.follow(run)
    assert last.status == "cancelled"
    remote.until(run, "hold", "cancelled")
    assert remote.states(run).get("after") in (None, "omitted")
    children = remote.argo.api.children(str(run.place["uid"]))
    assert [one["status"]["phase"] for one in children] == ["Failed"]
