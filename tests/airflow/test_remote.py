"""Runs submitted to a whole Airflow from outside, as users' are: one stack for all of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.remote import AirflowRemote
from couler.backends.airflow.rest import RunApi
from couler.backends.base import Artifact, ArtifactFile, Target
from couler.backends.remote import (
    Connection,
    Observation,
    Observed,
    RemoteRun,
    Restart,
    Submission,
)
from couler.errors import EngineError, LostRunError, RefusedError
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Cache, Retry, SourceRef
from couler.ir.semantics.places import failure_text
from couler.ir.walk import StepPath
from couler.ir.workflow import ExitHandler, Output, Schedule, Step, Suspend, Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    out,
    param,
    parameter,
    ref,
    sh,
    while_,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.images import Images
from tests.support import airflow_stack, io_image
from tests.support.airflow_runs import LIMIT_S
from tests.support.airflow_stack import AirflowStack
from tests.support.cut_off import ENDS, RUNNING, cut_off

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(3)]

BACKEND = AirflowBackend()


@dataclass
class Elsewhere:
    """An Airflow, a connection to it, and what was submitted."""

    stack: AirflowStack
    cluster: FakeCluster
    remote: AirflowRemote
    seen: list[Observation] = field(default_factory=list)

    def submit(
        self, workflow: Workflow, run_id: str, target: Target | None = None, **parameters: str
    ) -> RemoteRun:
        workflow = resolve_defaults(workflow)
        made = BACKEND.compile(workflow, target or Target())
        given_ = Submission(run_id, workflow, made, parameters)
        return RemoteRun(run_id, workflow, self.remote.submit(given_))

    def end(self, run: RemoteRun) -> dict[str, Observed]:
        """Follow a run to its end, and return how its steps stand."""
        self.seen = list(self.remote.follow(run))
        assert self.seen[-1].status != "running"
        return by_path(self.seen[-1])

    def succeed(self, run: RemoteRun) -> dict[str, Observed]:
        """Follow a run to its end, which must be a good one, and return how its steps stand."""
        steps = self.end(run)
        last = self.seen[-1]
        if last.status != "succeeded":
            found = self.stack.read(run.workflow.name, run.run_id)
            raise AssertionError(f"{last}\n{found.logs}\n{found.log}")
        return steps

    def wait(self, run: RemoteRun, path: str, status: str) -> Observation:
        """Follow a run until a step stands so."""
        for seen in self.remote.follow(run):
            if path in by_path(seen) and by_path(seen)[path].status == status:
                return seen
        raise AssertionError(f"{path} was never {status}")

    def wait_asked(self, run: RemoteRun, step: str) -> None:
        """Follow a run until a step of its top waits for a person, and may be answered."""
        self.wait(run, step, "suspended")
        limit = time.monotonic() + LIMIT_S
        while not self.stack.is_put_off(run.workflow.name, step):
            assert time.monotonic() < limit, "the scheduler does not see that the task waits"
            time.sleep(0.1)

    def lines(self, run: RemoteRun, path: str, **which: int) -> list[str]:
        return list(self.remote.logs(run, StepPath.parse(path), **which))

    def pods(self, run: RemoteRun) -> list[str]:
        """Return the tasks that pods of a run were of, each with its map index."""
        pods = (pod.labels for pod in self.cluster.pods())
        own = [one for one in pods if one.get("run_id") == run.run_id]
        return sorted(f"{one['task_id']}[{one.get('map_index', '')}]" for one in own)


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Elsewhere]:
    if reason := airflow_stack.obstacle():
        pytest.skip(reason)
    home = tmp_path_factory.mktemp("elsewhere")
    images = Images({io_image.NAME: io_image.io_image(home / "image")})
    with (
        FakeCluster(home / "cluster", images=images) as cluster,
        AirflowStack(home / "airflow", cluster) as stack,
    ):
        fields = {
            "address": stack.address,
            "dags": str(home / "airflow" / "dags"),
            "poll_s": 1,
            **dict.fromkeys(("parse_timeout_s", "patience_s", "timeout_s"), LIMIT_S),
        }
        yield Elsewhere(stack, cluster, BACKEND.connect(Connection("airflow", fields=fields), {}))


def artifact(workflow: Workflow) -> Artifact:
    return BACKEND.compile(workflow, Target())


def by_path(seen: Observation) -> dict[str, Observed]:
    return {str(step.path): step for step in seen.steps}


def statuses(steps: dict[str, Observed]) -> dict[str, str]:
    return {path: step.status for path, step in steps.items()}


def life(train: str) -> Workflow:
    """Return items known only at run time, rounds, a group, and a step that can be made to fail."""
    return flow(
        "life",
        sh("list", 'echo "[3, 4]"', result="list"),
        sh("each", "echo item-$1", item("n"), foreach={"n": ref("list")}),
        sh(
            "refine",
            "echo ${1}x",
            last(initial="x"),
            loop=while_(compare(last(), "!=", "xxx"), 4),
        ),
        sh("train", f"echo begins; {train}; echo $1", param("word")),
        group(
            "report",
            sh("write", 'echo "$1"', param("of")),
            inputs=[given("of", ref("train"))],
            outputs=[out("text", source=ref("write"))],
        ),
        parameters=(parameter("word", "none"),),
        outputs=(
            out("all", type="list", source=ref("each")),
            out("said", source=ref("report", "text")),
        ),
        exit_handlers=(ExitHandler(name="tell", on="failure", steps=(sh("mail", "echo told"),)),),
    )


def test_a_run_is_begun_followed_and_taken_up_again(elsewhere: Elsewhere) -> None:
    run = elsewhere.submit(life("exit 3"), "life-1", word="trained")
    assert elsewhere.submit(life("exit 3"), "life-1", word="trained").place == run.place
    steps = elsewhere.end(run)
    assert statuses(steps) == {
        "list": "succeeded",
        "each": "succeeded",
        "each[0]": "succeeded",
        "each[1]": "succeeded",
        "refine": "succeeded",
        "refine@0": "succeeded",
        "refine@1": "succeeded",
        "train": "failed",
        "report": "omitted",
        "exit:tell": "succeeded",
        "exit:tell/mail": "succeeded",
    }
    assert elsewhere.seen[-1].status == "failed"
    assert elsewhere.seen[-1].message is None
    assert failure_text(run.workflow, steps) == "failed: train"
    assert elsewhere.seen[0].status == "running"
    failed = steps["train"]
    assert (failed.exit_code, failed.message) == (3, "it ended with exit code 3")
    assert [(one.number, one.status, one.exit_code) for one in failed.attempts] == [
        (1, "failed", 3)
    ]
    assert steps["report"].message == "it needs the success of train, which failed"
    assert steps["each"].outputs["result"] == [
        {"text": "item-3", "type": "str"},
        {"text": "item-4", "type": "str"},
    ]
    assert steps["refine"].outputs == {"result": {"text": "xxx", "type": "str"}}
    assert elsewhere.lines(run, "each[1]") == ["item-4"]
    assert elsewhere.lines(run, "train")[0] == "begins"
    assert elsewhere.lines(run, "refine@1") == ["xxx"]
    runs = elsewhere.stack.call("GET", "/dags/life/dagRuns")
    assert [one["dag_run_id"] for one in runs["dag_runs"]] == ["life-1"]

    pods = elsewhere.pods(run)
    mended = resolve_defaults(life("true"))
    words = {"word": "trained"}
    with pytest.raises(RefusedError, match="keeps the parameters that it began with"):
        elsewhere.remote.restart(run, Restart(mended, artifact(mended), {}, frozenset({"train"})))
    restart = Restart(mended, artifact(mended), words, frozenset({"train", "report"}))
    run = replace(run, workflow=mended, place=elsewhere.remote.restart(run, restart))
    steps = elsewhere.end(run)
    again = elsewhere.pods(run)
    for one in pods:
        again.remove(one)
    assert again == ["report.write[]", "train[]"]
    assert elsewhere.seen[-1].status == "succeeded"
    assert elsewhere.seen[-1].outputs == {"all": ["item-3", "item-4"], "said": "begins\ntrained"}
    assert [one.status for one in steps["train"].attempts] == ["failed", "succeeded"]
    assert statuses(steps)["exit:tell"] == "skipped"
    assert elsewhere.lines(run, "train", attempt=2) == ["begins", "trained"]
    assert elsewhere.lines(run, "train", attempt=1)[0] == "begins"


def test_what_comes_from_an_entry_is_cached(elsewhere: Elsewhere) -> None:
    workflow = flow("entries", sh("load", "cat /proc/sys/kernel/random/uuid", cache=Cache()))
    target = Target(options={"files_claim": "entries"})
    found = []
    for run_id, status in (("entries-1", "succeeded"), ("entries-2", "cached")):
        run = elsewhere.submit(workflow, run_id, target)
        steps = elsewhere.end(run)
        assert elsewhere.seen[-1].status == "succeeded"
        assert statuses(steps) == {"load": status}
        found.append(steps["load"].outputs)
    assert found[0] == found[1]
    assert "couler: cached: " in elsewhere.lines(run, "load")[0]


def test_a_run_that_is_cancelled_ends_with_its_exit_handlers(elsewhere: Elsewhere) -> None:
    run = elsewhere.submit(cut_off("slow", "sleep 36000"), "slow-1")
    for path in RUNNING:
        elsewhere.wait(run, path, "running")
    elsewhere.wait(run, "bad", "failed")
    time.sleep(2)  # what ended within a second of the cancel counts as ended by it
    elsewhere.remote.cancel(run)
    steps = elsewhere.end(run)
    assert elsewhere.seen[-1].status == "cancelled"
    assert statuses(steps) == ENDS
    assert steps["behind"].message == "it needs the success of bad, which failed"
    assert steps["next"].message == "it needs the success of first, which was cancelled"
    assert steps["first"].attempts[-1].status == "cancelled"
    elsewhere.remote.cancel(run)
    assert elsewhere.remote.observe(run).status == "cancelled"

    mended = resolve_defaults(cut_off("slow", "true", "true"))
    again = frozenset(
        {"first", "part/a", "part/b", "each[0]", "each[1]", "bad", "behind", "next/inner"}
    )
    place = elsewhere.remote.restart(run, Restart(mended, artifact(mended), {}, again))
    steps = elsewhere.end(replace(run, workflow=mended, place=place))
    assert elsewhere.seen[-1].status == "succeeded"
    assert [one.status for one in steps["first"].attempts] == ["cancelled", "succeeded"]
    assert steps["next/inner"].status == "succeeded"
    assert steps["exit:tell"].status == "skipped"


def test_a_list_that_has_grown_has_more_items(elsewhere: Elsewhere) -> None:
    def grown(items: str) -> Workflow:
        return flow(
            "grown",
            sh("list", f"echo '{items}'", result="list"),
            sh("each", "echo $1", item("n"), foreach={"n": ref("list")}),
            outputs=(out("all", type="list", source=ref("each")),),
        )

    run = elsewhere.submit(grown("[1]"), "grown-1")
    elsewhere.end(run)
    assert elsewhere.seen[-1].outputs == {"all": ["1"]}
    mended = resolve_defaults(grown("[1, 2, 3]"))
    again = frozenset({"list", "each[1]", "each[2]"})
    place = elsewhere.remote.restart(run, Restart(mended, artifact(mended), {}, again))
    elsewhere.end(replace(run, workflow=mended, place=place))
    assert elsewhere.seen[-1].outputs == {"all": ["1", "2", "3"]}


def test_a_run_of_which_nothing_runs_is_cancelled(elsewhere: Elsewhere) -> None:
    waits = sh("waits", "true").model_copy(update={"engine": {"airflow": {"pool": "no-such"}}})
    workflow = flow(
        "stuck",
        waits,
        exit_handlers=(ExitHandler(name="tell", on="failure", steps=(sh("mail", "echo told"),)),),
    )
    run = elsewhere.submit(workflow, "stuck-1")
    elsewhere.wait(run, "waits", "waiting")
    elsewhere.remote.cancel(run)
    assert statuses(elsewhere.end(run)) == {
        "waits": "omitted",
        "exit:tell": "succeeded",
        "exit:tell/mail": "succeeded",
    }
    assert elsewhere.seen[-1].status == "cancelled"


@pytest.mark.parametrize("is_begun", [True, False], ids=["begun", "not begun"])
def test_a_cancel_that_broke_off_is_gone_on_with(
    elsewhere: Elsewhere, is_begun: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sh("first", "sleep 36000")
    if not is_begun:
        first = first.model_copy(update={"engine": {"airflow": {"pool": "no-such"}}})
    name = f"torn-{int(is_begun)}"
    workflow = flow(
        name,
        first,
        group("next", sh("inner", "echo on"), depends_on=["first"]),
        exit_handlers=(ExitHandler(name="tell", on="failure", steps=(sh("mail", "true"),)),),
    )
    run = elsewhere.submit(workflow, f"{name}-1")
    elsewhere.wait(run, "first", "running" if is_begun else "waiting")

    def broken(*_: object, **__: object) -> None:
        raise EngineError("airflow: it was cut off")

    with monkeypatch.context() as patched:
        patched.setattr(RunApi, "clear", broken)
        with pytest.raises(EngineError, match="cut off"):
            elsewhere.remote.cancel(run)
    seen = elsewhere.remote.observe(run)
    assert seen.status == "running"  # its exit handlers may be cleared just now
    assert "exit:tell/mail" not in statuses(by_path(seen)) or (
        by_path(seen)["exit:tell/mail"].status == "omitted"
    )
    elsewhere.remote.cancel(run)
    assert statuses(elsewhere.end(run)) == {
        "first": "cancelled" if is_begun else "omitted",
        "next": "omitted",
        "exit:tell": "succeeded",
        "exit:tell/mail": "succeeded",
    }
    assert elsewhere.seen[-1].status == "cancelled"
    elsewhere.remote.cancel(run)
    assert elsewhere.remote.observe(run).status == "cancelled"


def test_a_run_is_followed_while_the_server_restarts(elsewhere: Elsewhere) -> None:
    ask = Step(name="ask", action=Suspend())
    workflow = flow("outage", ask, sh("a", "echo done", depends_on=["ask"]))
    run = elsewhere.submit(workflow, "outage-1")
    elsewhere.wait_asked(run, "ask")  # no worker, which would have to reach the server
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(elsewhere.end, run)
        elsewhere.stack.restart("api-server")
        elsewhere.stack.wait_healthy()
        elsewhere.remote.resume(run, StepPath.parse("ask"))
        steps = following.result(timeout=LIMIT_S)
    assert statuses(steps) == {"ask": "succeeded", "a": "succeeded"}


def test_a_person_lets_a_run_go_on(elsewhere: Elsewhere) -> None:
    asked = Step(
        name="ask", action=Suspend(message="Which?"), outputs=(Output(name="n", type="int"),)
    )
    workflow = flow("asks", asked, outputs=(out("n", type="int", source=ref("ask", "n")),))
    run = elsewhere.submit(workflow, "asks-1")
    elsewhere.wait_asked(run, "ask")
    path = StepPath.parse("ask")
    elsewhere.remote.resume(run, path, {"n": "7"})
    with pytest.raises(RefusedError):
        elsewhere.remote.resume(run, path, {"n": "8"})
    steps = elsewhere.end(run)
    assert steps["ask"].outputs == {"n": {"text": "7", "type": "int"}}
    assert elsewhere.seen[-1].outputs == {"n": 7}


def test_a_dag_that_is_paused_goes_on_and_a_run_is_deleted_under_way(elsewhere: Elsewhere) -> None:
    workflow = flow("held", sh("a", "sleep 36000"))
    elsewhere.remote.delete(elsewhere.submit(workflow, "held-1"))
    elsewhere.stack.call("PATCH", "/dags/held", {"is_paused": True})
    run = elsewhere.submit(workflow, "held-2")
    elsewhere.wait(run, "a", "running")
    elsewhere.remote.delete(run)
    elsewhere.remote.delete(run)
    with pytest.raises(LostRunError, match="held-2"):
        elsewhere.remote.observe(run)
    assert elsewhere.stack.call("GET", "/dags/held/dagRuns")["total_entries"] == 0


def test_an_error_of_import_is_told_with_the_step(elsewhere: Elsewhere, tmp_path: Path) -> None:
    bad = sh("bad", "true").model_copy(update={"source": SourceRef(file="flow.py", line=14)})
    workflow = resolve_defaults(flow("broken", sh("ok", "true"), group("in", bad)))
    text_ = artifact(workflow).to_text()
    line = next(one for one in text_.splitlines() if 'task_id="bad"' in one)
    broken = text_.replace(line, line.replace('task_id="bad"', 'task_id="bad", nonsense=1'))
    files = (ArtifactFile("broken.py", broken),)
    given_ = Submission("broken-1", workflow, Artifact("airflow", files=files))
    with pytest.raises(RefusedError, match=r'the step "bad" \(flow.py:14\): .*nonsense'):
        elsewhere.remote.submit(given_)
    with pytest.raises(RefusedError, match='the step "bad"'):  # it is there, and unchanged
        elsewhere.remote.submit(given_)


def test_a_run_sets_no_schedule_going(elsewhere: Elsewhere) -> None:
    remote = elsewhere.remote
    often = Schedule(cron=("* * * * *",), suspended=True)
    step = sh("a", "echo a", retry=Retry(limit=2))  # a busy Airflow may lose it
    workflow = resolve_defaults(flow("often", step, schedule=often))
    elsewhere.succeed(elsewhere.submit(workflow, "often-1"))
    assert remote.find_schedule("often") is None
    with pytest.raises(RefusedError, match="has a run often-1 already, of another workflow"):
        elsewhere.submit(flow("often", sh("other", "echo b")), "often-1")

    yearly = Schedule(cron=("0 3 1 1 *",))
    workflow = workflow.model_copy(update={"schedule": yearly})
    place = remote.schedule(workflow, artifact(workflow))
    elsewhere.succeed(elsewhere.submit(workflow, "often-2"))
    found = remote.find_schedule("often")
    assert (found is not None, found and found.is_paused) == (True, False)
    remote.pause(place)
    with pytest.raises(RefusedError, match="the schedule of often is paused"):
        elsewhere.submit(workflow, "often-3")
    with pytest.raises(RefusedError, match="often has a schedule"):
        elsewhere.submit(flow("often", sh("other", "echo b")), "often-4")
    runs = elsewhere.stack.call("GET", "/dags/often/dagRuns")["dag_runs"]
    assert sorted(one["dag_run_id"] for one in runs) == ["often-1", "often-2"]


def test_a_schedule_is_kept_paused_and_taken_away(elsewhere: Elsewhere) -> None:
    remote = elsewhere.remote
    yearly = Schedule(cron=("0 3 1 1 *",), timezone="Europe/Berlin")
    workflow = resolve_defaults(flow("yearly", sh("a", "echo a"), schedule=yearly))
    place = remote.schedule(workflow, artifact(workflow))
    found = remote.find_schedule("yearly")
    assert found is not None
    assert found in remote.schedules()
    assert (found.place, found.cron, found.is_paused) == (place, ("0 3 1 1 *",), False)
    assert (found.last, found.message) == (None, None)
    assert found.next is not None
    assert (found.next.month, found.next.day, found.next.hour) == (1, 1, 2)  # UTC
    remote.pause(place)
    assert remote.schedule(workflow, artifact(workflow)) == place
    paused = remote.find_schedule("yearly")
    assert paused == replace(found, is_paused=True, next=None)
    remote.unpause(place)
    run = elsewhere.submit(workflow, "yearly-1")
    with pytest.raises(RefusedError, match=r"runs of yearly are under way, .*: yearly-1"):
        remote.unschedule(place)
    assert remote.find_schedule("yearly") is not None
    remote.unschedule(place, with_runs=True)
    assert remote.find_schedule("yearly") is None
    assert "yearly" not in [one.name for one in remote.schedules()]
    with pytest.raises(LostRunError):
        remote.observe(run)
    remote.unschedule(place)  # it is away
