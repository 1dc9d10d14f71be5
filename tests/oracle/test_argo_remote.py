"""Runs under Argo's own controller, submitted, followed, read and ended from here.

With `--update-goldens` the moments of which the fast tests read are recorded anew.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.remote import ArgoRemote
from couler.backends.base import Target
from couler.backends.remote import Connection, Observation, RemoteRun, Restart, Submission
from couler.errors import EngineError, LostRunError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache, Retry
from couler.ir.semantics.places import failure_text
from couler.ir.walk import StepPath
from couler.ir.workflow import Schedule, Workflow
from tests.corpus.build import flow, given, group, item, param, parameter, ref, run as run_fact, sh
from tests.fakes.kubernetes.faults import RequestFault
from tests.fakes.kubernetes.store import PODS, WORKFLOWS
from tests.support import argo_moments, argo_oracle
from tests.support.cut_off import ENDS, RUNNING, cut_off

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(2),
]


class Argo:
    """A cluster with Argo, and a client of it."""

    def __init__(self, session: argo_oracle.Session, shared: Path, record: bool) -> None:
        self.session = session
        self.shared = shared
        self._record = record
        self._numbers = itertools.count(1)

    @property
    def remote(self) -> ArgoRemote:
        """A client that knows nothing yet, as of a new process."""
        fields = {"kubeconfig": str(self.session.kubeconfig)}
        return ArgoBackend().connect(Connection("argo", Target(), fields), {})

    def submit(
        self, workflow: Workflow, *, target: Target | None = None, **parameters: str
    ) -> RemoteRun:
        workflow = resolve_defaults(workflow)
        run_id = f"{workflow.name}-{next(self._numbers)}"
        artifact = ArgoBackend().compile(workflow, target or Target())
        place = self.remote.submit(Submission(run_id, workflow, artifact, parameters))
        return RemoteRun(run_id, workflow, place)

    def record(self, name: str, run: RemoteRun) -> None:
        if self._record:
            argo_moments.write(name, self.remote.api.get(run.place["name"]))


@pytest.fixture(scope="module")
def argo(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Argo]:
    shared = tmp_path_factory.mktemp("shared")
    with argo_oracle.session(tmp_path_factory.mktemp("argo"), shared=[shared]) as session:
        yield Argo(session, shared, request.config.getoption("--update-goldens"))


@pytest.fixture
def shared(argo: Argo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = argo.shared / f"{next(argo._numbers)}"
    folder.mkdir()
    return folder


def _states(now: Observation) -> dict[str, str]:
    return {str(seen.path): seen.status for seen in now.steps}


def _until(looks: Iterator[Observation], holds: Callable[[dict[str, str]], bool]) -> Observation:
    return next(now for now in looks if holds(_states(now)))


def _last(looks: Iterator[Observation]) -> Observation:
    *_, last = looks
    return last


def test_a_run_from_its_start_to_its_end(argo: Argo, shared: Path) -> None:
    run = argo.submit(argo_moments.WORKFLOW, shared=str(shared))
    looks = argo.remote.follow(run)
    now = _until(
        looks,
        lambda states: (
            (states.get("hold"), states.get("check"), states.get("never"), states.get("ask"))
            == ("running", "failed", "skipped", "suspended")
        ),
    )
    argo.record("halfway", run)
    assert now.status == "running"

    followed = argo.remote.logs(run, StepPath.parse("hold"), follow=True)
    assert next(followed) == "begun"
    argo.remote.resume(run, StepPath.parse("ask"), {"rate": "0.5"})
    now = _until(looks, lambda states: states.get("told") == "succeeded")
    (shared / "go").touch()
    assert list(followed) == ["ended", "3"]

    last = _last(looks)
    argo.record("failed", run)
    assert last.status == "failed"
    states = _states(last)
    assert (states["hold"], states["ask"], states["after"]) == ("succeeded", "succeeded", "omitted")
    ends = {str(seen.path): seen for seen in last.steps}
    assert failure_text(run.workflow, ends) == "failed: check[1]"
    assert (states["exit:tell"], states["exit:cheer"]) == ("succeeded", "skipped")
    assert list(argo.remote.logs(run, StepPath.parse("told"))) == ["rate 0.5"]
    assert list(argo.remote.logs(run, StepPath.parse("exit:tell/say"))) == ["failed"]
    assert argo.remote.observe(run) == last


def test_logs_of_attempts_and_items(argo: Argo) -> None:
    again = sh("again", 'echo "try of $1"; test "$1" = good', item(), foreach=["good", "bad"])
    run = argo.submit(flow("logs", again.model_copy(update={"retry": Retry(limit=1)})))
    assert _last(argo.remote.follow(run)).status == "failed"
    good, bad = StepPath.parse("again[0]"), StepPath.parse("again[1]")
    remote = argo.remote
    assert list(remote.logs(run, good)) == ["try of good"]
    assert [list(remote.logs(run, bad, attempt=number)) for number in (1, 2)] == [
        ["try of bad"],
        ["try of bad"],
    ]
    with pytest.raises(EngineError, match=r"again\[1\] has 2 attempts, not 3"):
        list(remote.logs(run, bad, attempt=3))
    with pytest.raises(EngineError, match=r"Name a step in it, such as again\[0\]"):
        list(remote.logs(run, StepPath.parse("again")))
    for pod in argo.session.pod_names:
        argo.session.remove(PODS, pod)
    with pytest.raises(EngineError, match=r"the pod of again\[0\] is gone.*it was not archived"):
        list(remote.logs(run, good))


def test_cancel_runs_the_exit_handlers(argo: Argo, shared: Path) -> None:
    run = argo.submit(argo_moments.WORKFLOW, shared=str(shared))
    looks = argo.remote.follow(run)
    _until(looks, lambda states: states.get("hold") == "running" and "ask" in states)
    argo.remote.cancel(run)
    last = _last(looks)
    argo.record("cancelled", run)
    assert last.status == "cancelled"
    states = _states(last)
    assert (states["hold"], states["ask"]) == ("cancelled", "cancelled")
    assert (states["exit:tell"], states["exit:tell/say"]) == ("succeeded", "succeeded")
    [hold] = [seen for seen in last.steps if str(seen.path) == "hold"]
    assert [attempt.status for attempt in hold.attempts] == ["cancelled"]
    argo.remote.cancel(run)  # it has ended
    assert argo.remote.observe(run) == last

    (shared / "go").touch()
    artifact = ArgoBackend().compile(run.workflow, Target())
    again = frozenset({"ask", "told", "hold", "exit:tell/say"})
    place = argo.remote.restart(
        run, Restart(run.workflow, artifact, {"shared": str(shared)}, again)
    )
    run = RemoteRun(run.run_id, run.workflow, place)
    looks = argo.remote.follow(run)
    _until(looks, lambda states: states.get("ask") == "suspended")
    argo.remote.resume(run, StepPath.parse("ask"), {"rate": "2.0"})
    last = _last(looks)
    states = _states(last)
    assert (last.status, states["hold"], states["told"]) == ("failed", "succeeded", "succeeded")
    assert list(argo.remote.logs(run, StepPath.parse("told"))) == ["rate 2.0"]


@pytest.mark.parametrize("how", ["cancel", "Stop", "Terminate"])
def test_what_a_cancel_ends_is_cancelled(argo: Argo, how: str) -> None:
    run = argo.submit(cut_off(f"cut-{how.lower()}", "sleep 36000"))
    looks = argo.remote.follow(run)
    ready = {**dict.fromkeys(RUNNING, "running"), "bad": "failed"}
    _until(looks, lambda states: states.items() >= ready.items())
    if how == "cancel":
        argo.remote.cancel(run)
    else:
        argo.remote.api._patch("Workflow", run.place["name"], {"spec": {"shutdown": how}})
    last = _last(looks)
    assert last.status == "cancelled"
    wanted = {path: end for path, end in ENDS.items() if not path.startswith("exit:")}
    ends = {path: end for path, end in _states(last).items() if not path.startswith("exit:")}
    # A busy Argo can end a run that is stopped before it looks at what it would omit.
    assert ends == {path: end for path, end in wanted.items() if end != "omitted" or path in ends}
    messages = {str(seen.path): seen.message for seen in last.steps}
    assert messages["behind"] == "it needs the success of bad, which failed"
    if "next" in messages:
        assert messages["next"] == "it needs the success of first, which was cancelled"
    assert {messages[path] for path in RUNNING} == {"the run was cancelled"}


def test_a_step_between_two_attempts(argo: Argo) -> None:
    run = argo.submit(argo_moments.FLAKY)
    looks = argo.remote.follow(run)
    now = _until(looks, lambda states: states.get("flaky") == "retrying")
    argo.record("retrying", run)
    [seen] = now.steps
    assert [(one.status, one.exit_code) for one in seen.attempts] == [("failed", 3)]
    argo.remote.cancel(run)
    assert _last(looks).status == "cancelled"


def test_outputs_from_the_cache(argo: Argo) -> None:
    cached = sh("cached", "echo 1", cache=Cache(name="numbers", salt="v1"))
    told = sh("told", 'echo "$1"', ref("cached"))
    for expected in ("succeeded", "cached"):
        run = argo.submit(flow("cached", cached, told))
        last = _last(argo.remote.follow(run))
        assert (last.status, _states(last)["cached"]) == ("succeeded", expected)
        [seen] = [seen for seen in last.steps if str(seen.path) == "cached"]
        assert seen.outputs == {"result": {"text": "1", "type": "str"}}
    argo.record("cached", run)
    assert seen.attempts == ()
    with pytest.raises(EngineError, match="come from the cache"):
        list(argo.remote.logs(run, StepPath.parse("cached")))


@pytest.mark.parametrize("kind", ["WorkflowTemplate", "CronWorkflow"])
def test_what_is_stored_or_scheduled_is_run_once(argo: Argo, kind: str) -> None:
    say = sh("say", 'echo "$1 $2"', param("word"), run_fact("id"))
    schedule = Schedule(cron=("0 3 * * *",)) if kind == "CronWorkflow" else None
    workflow = flow(
        kind.lower(),
        group("nested", say, inputs=[given("word", param("word"))]),
        parameters=[parameter("word", "none")],
        schedule=schedule,
    )
    run = argo.submit(workflow, target=Target(options={"kind": kind}), word="hello")
    last = _last(argo.remote.follow(run))
    states = {"nested": "succeeded", "nested/say": "succeeded"}
    assert (last.status, _states(last)) == ("succeeded", states)
    [line] = argo.remote.logs(run, StepPath.parse("nested/say"))
    assert line == f"hello {run.place['name']}"


def test_submitted_twice_it_runs_once_and_is_deleted_with_its_pods(argo: Argo) -> None:
    workflow = resolve_defaults(flow("once", sh("say", "echo once")))
    artifact = ArgoBackend().compile(workflow, Target())
    one = Submission("once-and-only", workflow, artifact)
    argo.session.faults.add(RequestFault("POST", "/workflows$", times=1, cut="after"))
    place = argo.remote.submit(one)
    assert argo.remote.submit(one) == place
    run = RemoteRun(one.run_id, workflow, place)
    assert _last(argo.remote.follow(run)).status == "succeeded"
    assert argo.remote.submit(one) == place  # also when it has ended
    found = [each["metadata"]["name"] for each in argo.session.objects(WORKFLOWS)]
    assert found.count("once-and-only") == 1
    pods = [name for name in argo.session.pod_names if name.startswith("once-and-only")]
    assert len(pods) == 1
    argo.remote.delete(run)
    assert not argo.session.pod_names.intersection(pods)
    with pytest.raises(LostRunError):
        argo.remote.observe(run)


def test_a_run_is_followed_over_cuts_and_a_restart_of_the_controller(
    argo: Argo, shared: Path
) -> None:
    for fault in (
        RequestFault("GET", "/workflows$", watch=True, cut="within", after=2, times=2),
        RequestFault("GET", "/workflows$", watch=True, code=410, after=1, times=1),
        RequestFault("GET", "/workflows$", watch=True, code=429, times=1, retry_after="0"),
    ):
        argo.session.faults.add(fault)
    run = argo.submit(argo_moments.WORKFLOW, shared=str(shared))
    looks = argo.remote.follow(run)
    _until(looks, lambda states: states.get("hold") == "running" and "ask" in states)
    argo.session.restart_controller()
    argo.session.faults.add(RequestFault("GET", "/workflows$", cut="before", times=3))
    argo.remote.resume(run, StepPath.parse("ask"), {"rate": "1.0"})
    (shared / "go").touch()
    last = _last(looks)
    assert last.status == "failed"
    states = _states(last)
    assert (states["hold"], states["told"]) == ("succeeded", "succeeded")
    assert states["exit:tell/say"] == "succeeded"
