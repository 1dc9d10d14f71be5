"""What a look at a large run costs, counted in calls of functions and in requests."""

from __future__ import annotations

import random
import typing as t
from collections.abc import Callable, Iterator

import pytest

from couler.backends.argo.observe import Observer
from couler.backends.argo.remote import ArgoRemote
from couler.backends.argo.scope_order import ScopeOrders
from couler.backends.remote import RemoteRun
from couler.errors import EngineError
from couler.ir.paths import StepPath
from couler.ir.walk import predecessors
from couler.ir.workflow import Step, Workflow
from tests.corpus.build import flow, sh
from tests.support.counted_calls import calls_of

if t.TYPE_CHECKING:
    from couler.backends.argo.workflow_api import WorkflowApi

Json = t.Any
TIME = "2026-03-01T12:00:00Z"


def parallel(count: int) -> Workflow:
    return flow("w", *(sh(f"s{number}", "true") for number in range(count)))


def backwards(count: int) -> Workflow:
    """A chain, the last step of which comes first in the program."""
    chain = [sh("s0", "true")]
    chain += [sh(f"s{one}", "true", depends_on=[f"s{one - 1}"]) for one in range(1, count)]
    return flow("w", *reversed(chain))


def foreachs(count: int) -> Workflow:
    return flow("w", *(sh(f"s{number}", "true", foreach=[1, 2]) for number in range(count)))


def node(name: str, kind: str = "Pod", *, inside: str = "w", phase: str = "Succeeded") -> Json:
    return {
        "id": name,
        "name": name,
        "type": kind,
        "phase": phase,
        "boundaryID": inside,
        "templateName": name.rpartition(".")[2],
        "startedAt": TIME,
        "finishedAt": TIME,
    }


def status_of(workflow: Workflow, phase: str = "Succeeded") -> Json:
    """Return a run all steps of which have succeeded."""
    nodes = [node("w", "DAG", inside="", phase=phase)]
    for step in workflow.steps:
        nodes.append(node(f"w.{step.name}", "Pod" if step.foreach is None else "TaskGroup"))
        if step.foreach is not None:
            nodes += [node(f"w.{step.name}({one}:{one + 1})") for one in range(2)]
    status = {"phase": phase, "nodes": {one["id"]: one for one in nodes}}
    return {"metadata": {"name": "w"}, "spec": {}, "status": status}


@pytest.mark.parametrize("shape", [parallel, backwards, foreachs])
def test_a_look_takes_calls_in_proportion_to_the_steps(shape: Callable[[int], Workflow]) -> None:
    def calls(count: int) -> int:
        workflow = shape(count)
        observer, status = Observer(workflow), status_of(workflow)
        assert len(observer.observe(status).steps) >= count
        return calls_of(lambda: observer.observe(status))

    assert calls(400) / calls(100) < 4.5


@pytest.mark.parametrize("seed", range(30))
def test_steps_are_looked_at_as_many_passes_over_them_would(seed: int) -> None:
    steps = _scattered(seed, 40)
    assert [task.step.name for task in ScopeOrders().of(steps)] == list(_by_passes(steps))


def _scattered(seed: int, count: int) -> tuple[Step, ...]:
    """Return steps each of which waits for some before it, in an order of no meaning."""
    choose = random.Random(seed)
    steps = []
    for number in range(count):
        waits = choose.sample(range(number), choose.randint(0, min(number, 3)))
        steps.append(sh(f"s{number}", "true", depends_on=[f"s{one}" for one in waits]))
    choose.shuffle(steps)
    return tuple(steps)


def _by_passes(steps: tuple[Step, ...]) -> Iterator[str]:
    left = {step.name: step for step in steps}
    while left:
        for name, step in list(left.items()):
            if not any(before in left for before in predecessors(step)):
                del left[name]
                yield name


def test_an_order_is_found_once() -> None:
    workflow = parallel(50)
    observer, status = Observer(workflow), status_of(workflow)
    first, second = (calls_of(lambda: observer.look(status)) for _ in range(2))
    assert second < first


# logs ----------------------------------------------------------------------------------------


class CountedApi:
    """Argo with one run, that counts what it is asked."""

    namespace = "default"

    def __init__(self, workflow: Json) -> None:
        self.workflow = workflow
        self.gets = 0

    def get(self, _name: str) -> Json:
        self.gets += 1
        return self.workflow

    def snapshot(self, _name: str) -> tuple[Json, str]:
        return self.workflow, "1"

    def stop(self, _name: str) -> None:
        self.workflow = {**self.workflow, "spec": {"shutdown": "Stop"}}

    def delete(self, _name: str) -> None:
        return

    def logs(self, _name: str, pod: str, _container: str, *, follow: bool) -> Iterator[str]:
        yield f"{pod.rpartition('-')[0]}{' followed' if follow else ''}"


def read_all(api: CountedApi, remote: ArgoRemote, run: RemoteRun) -> int:
    """Read the log of each step, and return how often the run was asked for."""
    before = api.gets
    for step in run.workflow.steps:
        assert list(remote.logs(run, StepPath.parse(step.name))) == [f"w-{step.name}"]
    return api.gets - before


@pytest.fixture
def run() -> RemoteRun:
    return RemoteRun("w", parallel(30), {"name": "w"})


def remote_of(api: CountedApi) -> ArgoRemote:
    return ArgoRemote(t.cast("WorkflowApi", api))


def test_a_run_that_is_over_is_asked_for_once_for_all_logs(run: RemoteRun) -> None:
    api = CountedApi(status_of(run.workflow))
    assert read_all(api, remote_of(api), run) == 1


def test_a_run_that_was_followed_is_not_asked_for_again(run: RemoteRun) -> None:
    api = CountedApi(status_of(run.workflow))
    remote = remote_of(api)
    assert [one.status for one in remote.follow(run)] == ["succeeded"]
    assert read_all(api, remote, run) == 0


def test_what_was_done_to_a_run_is_seen(run: RemoteRun) -> None:
    api = CountedApi(status_of(run.workflow))
    remote = remote_of(api)
    read_all(api, remote, run)
    remote.delete(run)
    assert read_all(api, remote, run) == 1


def test_a_step_that_was_not_seen_is_looked_for_anew(run: RemoteRun) -> None:
    api = CountedApi(status_of(run.workflow, "Running"))
    nodes = api.workflow["status"]["nodes"]
    late = nodes.pop("w.s7")
    remote, path = remote_of(api), StepPath.parse("s7")
    with pytest.raises(EngineError, match="s7 has not begun"):
        list(remote.logs(run, path))
    api.workflow = {**api.workflow, "status": {"phase": "Running", "nodes": {**nodes, "s7": late}}}
    assert list(remote.logs(run, path)) == ["w-s7"]
    assert list(remote.logs(run, StepPath.parse("s8"))) == ["w-s8"]
    assert api.gets == 2
