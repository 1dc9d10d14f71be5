"""How processes end: Airflow tells failures and errors apart as this machine does."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import RunOptions, Target
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import ContainerSettings, PodContainer, StepPod
from couler.ir.policies import Retry
from couler.ir.workflow import Step, Workflow
from tests.corpus.build import SHELL_IMAGE, flow, out, sh, words
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import Worker

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

BACKEND = AirflowBackend()
TARGET = Target(options={"files_claim": "files"})
RETRIES = {
    "failure": Retry(limit=1, on=("failure",)),
    "error": Retry(limit=1, on=("error",)),
}


def beside(name: str, *command: str) -> PodContainer:
    return PodContainer(name=name, image=SHELL_IMAGE, command=command)


def kinds(name: str, make: t.Callable[..., Step], *given: str, **fields: t.Any) -> list[Step]:
    """Steps that end in one way, tried again after failures, after errors and for exit codes."""
    code = fields.pop("code", None)
    retries = dict(RETRIES)
    if code is not None:
        retries["code"] = Retry(limit=1, exit_codes=(code,))
    return [
        make(f"{name}-{kind}", *given, retry=retry, **fields) for kind, retry in retries.items()
    ]


KEPT = {"outputs": [out("f", "file", "f")]}
ENDS = {
    "exit-125": ("exit 125", 125),
    "exit-127": ("no-such-program", 127),
    "exit-126": ("/etc/passwd", 126),
    "killed": ("kill -KILL $$", 137),
    "ended": ("kill -TERM $$", 143),
}
ENDINGS: dict[str, dict[str, t.Any]] = {"": {}, "-files": KEPT, "-plain": {"result": None}}


def exits(_: str) -> Workflow:
    steps = (
        step
        for name, (script, code) in ENDS.items()
        for ending, fields in ENDINGS.items()
        if code < 128 or ending != "-plain"  # as first process it would not get its own signals
        for step in kinds(f"{name}{ending}", sh, script, code=code, **fields)
    )
    return flow("exits", *steps)


def starts(bad: str) -> Workflow:
    steps = (
        step
        for ending, fields in ENDINGS.items()
        for step in kinds(f"bad{ending}", words, bad, code=127, **fields)
    )
    return flow("starts", *steps)


def hand_overs(_: str) -> Workflow:
    value = {"result": None, "outputs": [out("v", path="v")]}
    elsewhere = ContainerSettings(termination_message_path="/tmp/said")
    return flow(
        "hand-overs",
        *kinds("value", sh, "true", code=125, **value),
        *kinds("file", sh, "true", code=125, **KEPT),
        *kinds("elsewhere", sh, "true", code=125, container=elsewhere, **value),
        *kinds("late", sh, "sleep 3600", timeout_s=2, code=143),
        *kinds("late-pod", sh, "sleep 3600", timeout_s=2, pod=StepPod(timeout_s=3000)),
    )


def around(bad: str) -> Workflow:
    ends = beside("a", "sh", "-c", "exit 3")
    return flow(
        "around",
        *kinds("no-before", sh, "true", init_containers=[beside("a", bad)], code=127),
        *kinds("beside", sh, "sleep 1", sidecars=[ends], code=3),
        *kinds("no-beside", sh, "sleep 1", sidecars=[beside("a", bad)], code=127),
    )


@pytest.mark.parametrize("make", [exits, starts, hand_overs, around])
def test_attempts(
    make: t.Callable[[str], Workflow], airflow: Worker, cluster: FakeCluster, tmp_path: Path
) -> None:
    bad = tmp_path / "shared" / "bad"  # which pods see, and cannot start
    bad.write_text("#!/no/such/program\n")
    bad.chmod(0o755)
    workflow = resolve_defaults(make(str(bad)))
    here = LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home", jobs=4))
    text = BACKEND.compile(workflow, TARGET).to_text()
    done = airflow.run(text, workflow.name, cluster=cluster)
    there = AirflowOutcome(workflow, done.state, done.states, done.xcoms)
    wanted = {path: (step.status, step.attempts) for path, step in here.steps.items()}
    found = {path: (state, done.tries[path, -1]) for path, state in there.states.items()}
    differing = {path: (found.get(path), end) for path, end in wanted.items()}
    assert {path: ends for path, ends in differing.items() if ends[0] != ends[1]} == {}
