"""What the real scheduler does: several tasks at once, pools, bounds, schedules and time limits.

All DAGs run under one Airflow, side by side. Their steps are requests and pauses where these do:
each pod would start with a long import.
"""

from __future__ import annotations

import contextlib
import time
import typing as t
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import RunOptions, Target
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from couler.ir.policies import Foreach, Retry
from couler.ir.storage import NewClaimVolume
from couler.ir.values import Literal, Text
from couler.ir.workflow import ExitHandler, Http, Output, Schedule, Step, Suspend, Workflow
from couler.stages.checks import check_engine
from tests.corpus.build import (
    flow,
    given,
    group,
    item,
    on_completion,
    or_else,
    out,
    param,
    parameter,
    ref,
    sh,
    text,
)
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.store import PODS
from tests.support import airflow_stack
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_runs import LIMIT_S, AirflowRun, Json
from tests.support.airflow_stack import AirflowStack
from tests.support.http_server import serving
from tests.support.web_site import Site

pytestmark = [pytest.mark.airflow, pytest.mark.timeout(1800), pytest.mark.sampled(2)]

ZONE = "Asia/Kathmandu"
"""Far from UTC, and not by whole hours."""
LATE_S = 3600.0
HELD_S = 8.0
"""How long the run that holds up its schedule goes on after the scheduled time."""


@dataclass
class Started:
    """The stack, with a run of each workflow, and when the schedules are due."""

    stack: AirflowStack
    cluster: FakeCluster
    site: Site
    due: datetime = field(init=False)
    daily: str = field(init=False)
    busy: str = field(init=False)
    runs: dict[str, str] = field(default_factory=dict)

    def start_scheduled(self) -> None:
        """Start what is due in the next minute, if it is switched on before that."""
        for lead_s in (45, 240, 600, 1800):
            self.due = at_a_minute(datetime.now(UTC) + timedelta(seconds=lead_s))
            self.daily, self.busy = f"daily-{lead_s}", f"busy-{lead_s}"
            workflows = busy(self.busy, self.due), daily(self.daily, self.site, self.due)
            self.start(*workflows, runs_now={self.busy})
            if datetime.now(UTC) < self.due:
                return
        raise AssertionError("the machine is too slow for this test")

    def start(self, *workflows: Workflow, runs_now: Collection[str]) -> None:
        """Upload workflows, switch them on, and start a run of some."""
        for workflow in workflows:
            self.stack.upload(compiled(workflow), workflow.name)
        for name in (one.name for one in workflows):
            self.stack.wait_visible(name)
            if name in runs_now:
                self.runs[name] = self.stack.trigger(name)
            self.stack.unpause(name)

    def ended(self, name: str) -> AirflowRun:
        """Wait for the end of a run, and return it."""
        self.stack.wait(name, self.runs[name])
        return self.stack.read(name, self.runs[name])

    def times(self, name: str, *tasks: str) -> list[tuple[datetime, datetime]]:
        """Return when the instances of tasks began and ended: all of those that start so."""
        found = [
            (_time(one["start_date"]), _time(one["end_date"]))
            for one in self.stack.instances(name, self.runs[name])
            if not tasks or one["task_id"].startswith(tasks)
        ]
        assert found, tasks
        return found

    def scheduled(self, name: str) -> list[Json]:
        path = f"/dags/{name}/dagRuns?run_type=scheduled"
        return list(self.stack.call("GET", path)["dag_runs"])


def ask(name: str, url: Text, **fields: t.Any) -> Step:
    """Return a request, which fails where the site has no such page."""
    fields.setdefault("outputs", (Output(),))
    return Step(name=name, action=Http(url=url), **fields)


def pause(name: str, seconds: float, **fields: t.Any) -> Step:
    """Return a pause, which begins anew where the machine stands still and Airflow loses it."""
    retry = Retry(limit=2)
    return Step(name=name, action=Suspend(seconds=seconds), retry=retry, **fields)


def chain(site: Site, name: str, count: int) -> list[Step]:
    """Return steps one after another."""
    names = [f"{name}{number}" for number in range(1, count + 1)]
    return [
        ask(one, f"{site.url}/ok", depends_on=() if before is None else (before,))
        for one, before in zip(names, (None, *names), strict=False)
    ]


def ends(site: Site) -> Workflow:
    """Return what fails at once beside long chains, and much that runs after any end."""
    ok, gone = f"{site.url}/ok", f"{site.url}/gone"
    tell = ask("tell", text(ok, "?", or_else(ref("b8"), "none")))
    never = ask("never", ok)
    return flow(
        "ends",
        ask("a", gone),
        *chain(site, "b", 8),
        ask("join", ok, depends_on=("a", "b8")),
        ask(
            "clean", text(ok, "?", or_else(ref("b8"), "none")), depends_on=(on_completion("join"),)
        ),
        group(
            "work",
            ask("x", gone),
            *chain(site, "y", 4),
            ask("z", ok, depends_on=("x", "y4")),
            ask("last", ok, depends_on=("z",)),
        ),
        ask("after-work", ok, depends_on=(on_completion("work"),)),
        ask("list", f"{site.url}/list", outputs=(Output(type="list"),)),
        group(
            "each",
            ask("w", text(site.url, "/item", param("n"))),
            *chain(site, "v", 4),
            ask("u", ok, depends_on=("w", "v4")),
            inputs=[given("n", item(), "int")],
            foreach=ref("list"),
        ),
        ask("after-each", ok, depends_on=(on_completion("each"),)),
        exit_handlers=[
            ExitHandler(name="any", on="any", steps=(tell,)),
            ExitHandler(name="failed", on="failure", steps=(never,)),
        ],
    )


def claims(site: Site) -> Workflow:
    """Return what has a claim of the run, which is deleted at the end."""
    ok = f"{site.url}/ok"
    return flow(
        "claims",
        ask("a", f"{site.url}/gone"),
        *chain(site, "b", 4),
        ask("join", ok, depends_on=("a", "b4")),
        volumes=[NewClaimVolume(name="work", size="1Gi")],
    )


def locks() -> Workflow:
    """Return steps of a pool of one slot, and others of one of two."""
    two: dict[str, t.Any] = {"engine": {"airflow": {"pool": "two"}}}
    return flow(
        "locks",
        *(pause(f"one-{number}", 1, mutex="one") for number in range(3)),
        *(pause(f"two-{number}", 1, **two) for number in range(4)),
    )


def bounds() -> Workflow:
    """Return steps of which two may run at a time."""
    return flow("bounds", *(pause(f"p{number}", 1) for number in range(5)), max_parallel=2)


def items() -> Workflow:
    """Return items of which two may run at a time."""
    over = Foreach(over={"item": Literal(value=(1, 2, 3, 4, 5))}, max_parallel=2)
    return flow("items", pause("each", 1, foreach=over))


def late() -> Workflow:
    long = sh("long", "sleep 36000")
    return flow("late", long, sh("next", "true", depends_on=["long"]), timeout_s=LATE_S)


def at_a_minute(time: datetime) -> datetime:
    """Return the first full minute that is not before a time."""
    return (time + timedelta(seconds=59, microseconds=999_999)).replace(second=0, microsecond=0)


def once_a_day(due: datetime, zone: str) -> Schedule:
    """Return a schedule by the clock of a place."""
    there = due.astimezone(ZoneInfo(zone))
    cron = f"{there.minute} {there.hour} * * *"
    return Schedule(cron=(cron,), timezone=zone, concurrency="forbid")


def daily(name: str, site: Site, due: datetime) -> Workflow:
    """Return a workflow that is due soon."""
    return flow(
        name,
        ask("greet", text(f"{site.url}/hello/", param("who"))),
        parameters=[parameter("who", "you")],
        outputs=[out("greeting", source=ref("greet"))],
        schedule=once_a_day(due, ZONE),
    )


def busy(name: str, due: datetime) -> Workflow:
    """Return a workflow of which one run goes on when the next is due."""
    left = (due - datetime.now(UTC)).total_seconds()
    return flow(name, pause("hold", left + HELD_S), schedule=once_a_day(due, "UTC"))


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Started]:
    if reason := airflow_stack.obstacle():
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("scheduler")
    settings = {
        "AIRFLOW__CORE__PARALLELISM": "8",
        # A file that is read again more than a minute after its DAG was due, as where the machine
        # stands still just then, has Airflow leave that time out.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "86400",
    }
    with contextlib.ExitStack() as opened:
        site = opened.enter_context(serving(Site()))
        site.files |= {"/ok": b"ok", "/ok?ok": b"", "/list": b"[1, 2]", "/item2": b""}
        site.files["/hello/you"] = b"welcome"
        cluster = opened.enter_context(FakeCluster(folder / "cluster"))
        stack = opened.enter_context(AirflowStack(folder / "airflow", cluster, settings=settings))
        for name, slots in (("one", 1), ("two", 2)):
            stack.call("POST", "/pools", {"name": name, "slots": slots})
        found = Started(stack, cluster, site)
        found.start_scheduled()
        others = (ends(site), claims(site), late(), locks(), bounds(), items())
        found.start(*others, runs_now={one.name for one in others})
        yield found


def compiled(workflow: Workflow) -> str:
    workflow = resolve_defaults(workflow)
    expected = ["CLR373"] if workflow.schedule else []  # a time that passes meanwhile starts late
    found = check_engine(workflow, AirflowBackend(), Target())
    assert [one.code for one in found] == expected, found
    return AirflowBackend().compile(workflow, Target()).to_text()


def test_what_runs_after_any_end_waits_for_all_ends(started: Started, tmp_path: Path) -> None:
    workflow = resolve_defaults(ends(started.site))
    run = started.ended("ends")
    here = LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home", jobs=4))
    there = AirflowOutcome(workflow, run.state, run.states, run.xcoms)
    assert there.states == {path: step.status for path, step in here.steps.items()}, run.log
    assert there.status == here.status == "succeeded", run.log
    for before, after in (
        (("b",), ("clean", "exit-")),
        (("work.",), ("after-work", "exit-")),
        (("each.",), ("after-each", "exit-")),
        (("clean", "after-work", "after-each"), ("exit-",)),
        (("exit-",), ("run-status",)),
    ):
        ended = max(end for _, end in started.times("ends", *before))
        assert min(start for start, _ in started.times("ends", *after)) >= ended, after


def test_what_a_run_has_made_is_deleted_after_all_ends(started: Started) -> None:
    run = started.ended("claims")
    assert run.state == "failed", run.log
    [(start, _)] = started.times("claims", "delete-claims")
    assert start >= max(end for _, end in started.times("claims", "b"))


@pytest.mark.parametrize(
    ("name", "tasks", "most"),
    [
        ("locks", "one-", 1),
        ("locks", "two-", 2),
        ("bounds", "p", 2),
        ("items", "each", 2),
    ],
)
def test_no_more_at_a_time(started: Started, name: str, tasks: str, most: int) -> None:
    run = started.ended(name)
    assert run.state == "success", (run.logs, run.log)
    assert at_once(started.times(name, tasks)) <= most


def at_once(times: Sequence[tuple[datetime, datetime]]) -> int:
    """Return the number of tasks that ran at the same time, at most."""
    return max(sum(start <= one < end for start, end in times) for one, _ in times)


def test_a_run_that_takes_too_long(started: Started) -> None:
    """Its pod is there, and it began long ago as far as Airflow knows."""
    pods = started.cluster.pods
    until(lambda: any(pod.labels.get("task_id") == "long" and pod.containers for pod in pods()))
    started.stack.age("late", started.runs["late"], 2 * LATE_S)
    run = started.ended("late")
    assert run.state == "failed", run.log
    assert run.states == {("long", -1): "skipped", ("next", -1): "skipped"}
    assert run.pods_of("long")
    until(lambda: not started.cluster.objects(PODS))


def test_a_scheduled_run(started: Started) -> None:
    """One run, at the time that is meant, with the parameters' defaults."""
    daily = started.daily
    until(lambda: started.scheduled(daily))
    [run] = started.scheduled(daily)
    assert _time(run["logical_date"]) == started.due
    started.runs[daily] = run["dag_run_id"]
    ended = started.ended(daily)
    assert ended.state == "success", ended.log
    assert ended.xcoms["run-outputs", -1] == {"greeting": "welcome"}
    assert len(started.scheduled(daily)) == 1


@pytest.mark.nightly
def test_a_run_that_holds_up_its_schedule(started: Started) -> None:
    run = started.ended(started.busy)
    assert run.state == "success", (run.logs, run.log)
    [(_, end)] = started.times(started.busy, "hold")
    assert end > started.due
    for one in started.scheduled(started.busy):
        assert one["start_date"] is None or _time(one["start_date"]) >= end


def until(holds: t.Callable[[], object]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.2)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)
