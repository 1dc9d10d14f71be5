"""How steps stand in a run under way, and in one that was ended from outside."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from couler.backends.airflow.instances import RunSteps
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.ir.policies import Cache
from couler.ir.workflow import ExitHandler, Group, Retry, Step, Suspend, Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    out,
    ref,
    sh,
    while_,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LEFT = "left"
"""Stands for a task that came to no worker and was skipped when the run was ended."""


def read(
    workflow: Workflow,
    tasks: Mapping[str, str | None],
    returned: Mapping[Instance, object] | None = None,
    *,
    is_cancelled: bool = False,
) -> RunSteps:
    """Read a run; tasks are written `each[2]`."""
    made: dict[Instance, Task] = {}
    for name, state in tasks.items():
        task, _, index = name.partition("[")
        ran = state not in (LEFT, None)
        kept = "skipped" if state == LEFT else state
        made[task, int(index.rstrip("]") or -1)] = Task(kept, started=NOON, finished=NOON, ran=ran)
    table = TaskTable(made, has_failed=is_cancelled, was_cancelled=is_cancelled)
    return RunSteps(workflow, table, (returned or {}).get)


def statuses(
    workflow: Workflow, tasks: Mapping[str, str | None], *, is_cancelled: bool = False
) -> dict[str, str]:
    """Return how the instances stand that have begun."""
    found = read(workflow, tasks, is_cancelled=is_cancelled).found
    return {path: one.stand.status for path, one in found.items() if one.stand.status is not None}


@pytest.mark.parametrize(
    ("state", "status"),
    [
        (None, None),
        ("removed", None),
        ("scheduled", "waiting"),
        ("queued", "waiting"),
        ("running", "running"),
        ("restarting", "running"),
        ("deferred", "running"),
        ("up_for_reschedule", "running"),
        ("up_for_retry", "retrying"),
        ("awaiting_input", "suspended"),
        ("success", "succeeded"),
        ("failed", "failed"),
        ("skipped", "skipped"),
        ("upstream_failed", "omitted"),
    ],
)
def test_each_state_of_airflow_is_one_of_a_step(state: str | None, status: str | None) -> None:
    assert read(flow("f", sh("a", "true")), {"a": state}).found["a"].stand.status == status


def test_a_step_that_asks_a_person_is_suspended_on_older_airflows_too() -> None:
    asks = flow(
        "f", Step(name="ask", action=Suspend()), Step(name="pause", action=Suspend(seconds=90))
    )
    found = statuses(asks, {"ask": "deferred", "pause": "deferred"})
    assert found == {"ask": "suspended", "pause": "running"}


EACH = flow("f", sh("list", "echo", result="list"), sh("m", "true", foreach={"n": ref("list")}))
KNOWN = flow("f", sh("m", "true", foreach=[1, 2]))


@pytest.mark.parametrize(
    ("workflow", "tasks", "stands"),
    [
        (KNOWN, {"m[0]": None, "m[1]": None, "m-lists": None}, {}),
        (KNOWN, {"m[0]": "queued", "m[1]": None}, {"m[0]": "waiting", "m": "waiting"}),
        (
            KNOWN,
            {"m[0]": "success", "m[1]": "running", "m-lists": None},
            {"m[0]": "succeeded", "m[1]": "running", "m": "running"},
        ),
        (
            KNOWN,
            {"m[0]": "success", "m[1]": "success", "m-lists": "queued"},
            {"m[0]": "succeeded", "m[1]": "succeeded", "m": "running"},
        ),
        (
            KNOWN,
            {"m[0]": "failed", "m[1]": "success", "m-lists": "upstream_failed"},
            {"m[0]": "failed", "m[1]": "succeeded", "m": "failed"},
        ),
        (EACH, {"list": "running", "m-items": None, "m": None}, {"list": "running"}),
        (EACH, {"m-items": "running", "m": None}, {"m": "waiting"}),
        (EACH, {"m-items": "success", "m": None}, {"m": "running"}),
        (EACH, {"m-items": "success", "m": "skipped", "m-lists": "success"}, {"m": "succeeded"}),
        (EACH, {"m-items": "failed", "m": "upstream_failed"}, {"m": "failed"}),
        (
            EACH,
            {"m-items": "success", "m[0]": "running", "m[1]": None},
            {"m[0]": "running", "m": "running"},
        ),
    ],
)
def test_a_foreach_stands_by_its_items(
    workflow: Workflow, tasks: dict[str, str | None], stands: dict[str, str]
) -> None:
    assert statuses(workflow, tasks) == stands


LOOP = flow("f", sh("r", "echo $1", last(initial="x"), loop=while_(compare(last(), "!=", "y"), 3)))


@pytest.mark.parametrize(
    ("rounds", "bound", "stands"),
    [
        (["running", None, None], None, {"r@0": "running", "r": "running"}),
        (["queued", None, None], None, {"r@0": "waiting", "r": "waiting"}),
        (["success", "queued", None], None, {"r@0": "succeeded", "r": "running"}),
        (
            ["success", "running", None],
            None,
            {"r@0": "succeeded", "r@1": "running", "r": "running"},
        ),
        (["success", "skipped", "skipped"], "skipped", {"r@0": "succeeded", "r": "succeeded"}),
        (
            ["success", "failed", "upstream_failed"],
            "upstream_failed",
            {"r@0": "succeeded", "r@1": "failed", "r": "failed"},
        ),
        (
            ["success", "success", "success"],
            "running",
            {"r@0": "succeeded", "r@1": "succeeded", "r@2": "succeeded", "r": "running"},
        ),
        (
            ["success", "success", "success"],
            "failed",
            {"r@0": "succeeded", "r@1": "succeeded", "r@2": "succeeded", "r": "failed"},
        ),
    ],
)
def test_a_loop_stands_by_its_rounds(
    rounds: list[str | None], bound: str | None, stands: dict[str, str]
) -> None:
    tasks = {f"r.round_{number}": state for number, state in enumerate(rounds)}
    assert statuses(LOOP, {**tasks, "r.bound_3": bound}) == stands


@pytest.mark.parametrize("tries", [1, 2])
def test_a_round_that_may_be_skipped_yet_is_none(tries: int) -> None:
    def rounds(workflow: Workflow, began: datetime) -> set[str]:
        tasks = {("r.round_0", -1): Task("success"), ("r.round_2", -1): Task(None, ran=False)}
        tasks["r.round_1", -1] = Task("running", tries=tries, started=began)
        table = TaskTable(tasks, has_failed=False, was_cancelled=False)
        found = RunSteps(workflow, table, lambda _: None).found
        assert found["r"].stand.status == "running"
        return set(found)

    now = datetime.now(UTC)
    assert rounds(LOOP, now) == {"r", "r@0"}
    assert rounds(LOOP, NOON) == {"r", "r@0", "r@1"}
    [step] = LOOP.steps
    retried = step.model_copy(update={"retry": Retry(limit=2)})
    is_told = rounds(LOOP.model_copy(update={"steps": (retried,)}), now) == {"r", "r@0", "r@1"}
    assert is_told == (tries > 1)  # what failed before is not away while it runs again


GROUP = flow(
    "f",
    sh("bad", "false"),
    group("g", sh("x", "true"), sh("y", "true", depends_on=["x"]), depends_on=["bad"]),
)


@pytest.mark.parametrize(
    ("tasks", "stands"),
    [
        ({"g.x": None, "g.y": None}, {}),
        ({"g.x": "running", "g.y": None}, {"g/x": "running", "g": "running"}),
        ({"g.x": "queued", "g.y": None}, {"g/x": "waiting", "g": "waiting"}),
        (
            {"g.x": "success", "g.y": "success"},
            {"g/x": "succeeded", "g/y": "succeeded", "g": "succeeded"},
        ),
        ({"g.x": "failed", "g.y": None}, {"g/x": "failed", "g": "running"}),
        (
            {"g.x": "failed", "g.y": "upstream_failed"},
            {"g/x": "failed", "g/y": "omitted", "g": "failed"},
        ),
        ({"g.x": "upstream_failed", "g.y": None}, {}),
        ({"g.x": "upstream_failed", "g.y": "upstream_failed"}, {"g": "omitted"}),
    ],
)
def test_a_group_stands_by_its_steps(tasks: dict[str, str | None], stands: dict[str, str]) -> None:
    assert statuses(GROUP, tasks) == stands


def test_items_and_rounds_of_groups_are_told_apart() -> None:
    inner = group(
        "refine",
        sh("try", "echo $1", last(initial="0")),
        loop=while_(compare(last("n"), "!=", "3"), 3),
        outputs=[out("n", source=ref("try"))],
    )
    body = group(
        "g",
        inner,
        foreach=[1, 2],
        inputs=[given("n", item())],
        outputs=[out("n", source=ref("refine", "n"))],
    )
    found = statuses(
        flow("f", body),
        {
            "g.item.refine.round_0.when[0]": "success",
            "g.item.refine.round_0.try[0]": "success",
            "g.item.refine.round_0.end[0]": "success",
            "g.item.refine.round_1.when[0]": "success",
            "g.item.refine.round_1.try[0]": "running",
            "g.item.refine.round_1.end[0]": None,
            "g.item.refine.round_0.when[1]": "success",
            "g.item.refine.round_0.try[1]": "failed",
            "g.item.refine.round_0.end[1]": "upstream_failed",
        },
    )
    assert found == {
        "g[0]/refine@0/try": "succeeded",
        "g[0]/refine@0": "succeeded",
        "g[0]/refine@1/try": "running",
        "g[0]/refine@1": "running",
        "g[0]/refine": "running",
        "g[0]": "running",
        "g[1]/refine@0/try": "failed",
        "g[1]/refine@0": "failed",
        "g[1]/refine": "failed",
        "g[1]": "running",
        "g": "running",
    }


HANDLED = flow(
    "f",
    sh("a", "true"),
    exit_handlers=[ExitHandler(name="tell", on="any", steps=(sh("mail", "true"),))],
)


@pytest.mark.parametrize(
    ("gate", "mail", "stands"),
    [
        (None, None, {}),
        ("running", None, {"exit:tell": "waiting"}),
        ("success", None, {"exit:tell": "running"}),
        ("success", "running", {"exit:tell/mail": "running", "exit:tell": "running"}),
        ("success", "failed", {"exit:tell/mail": "failed", "exit:tell": "failed"}),
        ("skipped", "skipped", {"exit:tell": "skipped"}),
    ],
)
def test_an_exit_handler_stands_by_its_gate_and_steps(
    gate: str | None, mail: str | None, stands: dict[str, str]
) -> None:
    tasks = {"a": "success", "exit-tell.when": gate, "exit-tell.mail": mail}
    assert statuses(HANDLED, tasks) == {"a": "succeeded", **stands}


# runs that were ended from outside -----------------------------------------------------------


def test_what_waited_for_its_next_try_when_a_run_was_cancelled_has_failed() -> None:
    tasks = {("a", -1): Task("skipped", tries=2)}
    for was_cancelled, status in ((True, "failed"), (False, "skipped")):
        table = TaskTable(tasks, has_failed=True, was_cancelled=was_cancelled)
        found = RunSteps(flow("f", sh("a", "true")), table, lambda _: None).found
        assert found["a"].stand.status == status


@pytest.mark.parametrize(
    ("rounds", "bound"),
    [(["failed", LEFT, LEFT], LEFT), (["success", LEFT, LEFT], LEFT), (["success"] * 3, LEFT)],
)
def test_a_loop_that_was_cut_off_has_failed(rounds: list[str], bound: str) -> None:
    tasks: dict[str, str | None] = {f"r.round_{number}": one for number, one in enumerate(rounds)}
    found = statuses(LOOP, {**tasks, "r.bound_3": bound}, is_cancelled=True)
    assert found["r"] == "failed"


def test_a_loop_that_had_ended_before_a_run_was_cancelled_succeeded() -> None:
    tasks = {"r.round_0": "success", "r.round_1": "skipped", "r.round_2": LEFT, "r.bound_3": LEFT}
    assert statuses(LOOP, tasks, is_cancelled=True) == {"r@0": "succeeded", "r": "succeeded"}


def test_items_that_came_to_nothing_before_a_run_was_cancelled() -> None:
    tasks: dict[str, str | None] = {
        "list": "success",
        "m-items": "success",
        "m": LEFT,
        "m-lists": LEFT,
    }
    for rows, status in (([], "failed"), ([{"couler-item": "0"}], "omitted")):
        found = read(EACH, tasks, {("m-items", -1): rows}, is_cancelled=True).found
        assert found["m"].stand.status == status


# times and outputs ---------------------------------------------------------------------------


def test_what_holds_others_takes_as_long_as_they() -> None:
    late = NOON + timedelta(minutes=3)
    tasks = {
        ("m", 0): Task("success", started=NOON, finished=NOON + timedelta(minutes=1)),
        ("m", 1): Task("failed", started=NOON + timedelta(minutes=1), finished=late),
        ("m-lists", -1): Task("upstream_failed", started=late, finished=late),
    }
    table = TaskTable(tasks, has_failed=True, was_cancelled=False)
    whole = RunSteps(KNOWN, table, lambda _: None).found["m"]
    assert (whole.started, whole.finished) == (NOON, late)


def test_a_step_whose_wrapper_took_an_entry_is_cached() -> None:
    hit = {".cached": "k" * 64}
    workflow = flow(
        "f",
        sh("quiet", "true", result=None, cache=Cache()),
        sh("hit", "true", cache=Cache()),
        sh("miss", "true", cache=Cache()),
        sh("each", "true", item(), foreach=["a", "b"], cache=Cache()),
    )
    steps = read(
        workflow,
        dict.fromkeys(("quiet", "hit", "miss", "each[0]", "each[1]", "each-lists"), "success"),
        {
            ("quiet", -1): hit,
            ("hit", -1): {**hit, "result": "1"},
            ("miss", -1): {"result": "2"},
            ("each", 0): {**hit, "result": "3"},
            ("each", 1): {"result": "4"},
        },
    )
    stands = {path: one.stand for path, one in steps.found.items()}
    assert {path: one.status for path, one in stands.items()} == {
        "quiet": "cached",
        "hit": "cached",
        "miss": "succeeded",
        "each": "succeeded",
        "each[0]": "cached",
        "each[1]": "succeeded",
    }
    assert stands["quiet"].outputs == {}
    assert stands["hit"].outputs == {"result": {"text": "1", "type": "str"}}
    items = [{"text": text, "type": "str"} for text in ("3", "4")]
    assert stands["each"].outputs == {"result": items}


def test_groups_that_passes_make_are_not_shown() -> None:
    inner = group("g", sh("x", "true"))
    assert isinstance(inner.action, Group)
    made = inner.model_copy(
        update={"action": inner.action.model_copy(update={"transparent": True})}
    )
    found = read(flow("f", made), {"g.x": "success"}).found
    assert {path: one.is_shown for path, one in found.items()} == {"g/x": True, "g": False}
