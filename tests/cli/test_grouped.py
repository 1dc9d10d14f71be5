"""Steps that share a pod: planned, run, told of by their own names, and as a planning task."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Engine, Outcome

Call: t.TypeAlias = Callable[..., Outcome]
Write: t.TypeAlias = Callable[[str, str], str]

ORDERS = """
import couler


@couler.step(image="python:3.12-slim")
def load(day: str) -> list[int]:
    print("loading", day)
    return [1, 2, 3]


@couler.step(image="python:3.12-slim", retry=1)
def add(numbers: list[int], expected: int) -> int:
    print("adding")
    assert sum(numbers) == expected
    return sum(numbers)


with couler.Workflow("orders", day="monday", expected=6) as wf:
    total = add(load(wf.params.day), wf.params.expected)
    couler.run_container("busybox", ["echo"], args=[total], step_name="say")
    wf.output("total", total)
"""


@pytest.fixture
def orders(write: Write) -> str:
    return write("orders.py", ORDERS)


def test_a_run_in_which_all_is_well(couler: Call, orders: str) -> None:
    told = couler("run", orders, "--pass", "group", "--format", "json")
    assert told.code == 0
    assert told.json["outputs"] == {"total": 6}
    ends = {step["path"]: (step["status"], step["attempts"]) for step in told.json["steps"]}
    assert ends == {
        "load-to-add": ("succeeded", 1),
        "load": ("succeeded", 1),
        "add": ("succeeded", 1),
        "say": ("succeeded", 1),
    }
    assert couler("logs", "latest", "load").out == "loading monday\n"
    whole = couler("logs", "latest", "load-to-add").out.splitlines()
    assert whole[:2] == ["load | loading monday", "add | adding"]
    assert whole[2].startswith("couler-group: {")


def test_a_run_in_which_a_step_inside_fails(couler: Call, orders: str) -> None:
    told = couler("run", orders, "--pass", "group", "-p", "expected=7")
    assert told.code == 1
    lines = [" ".join(line.split()) for line in told.err.splitlines()]
    assert 'step "add" failed: it ended with exit code 1' in lines
    assert not [line for line in lines if line.startswith('step "load-to-add')]
    assert "| adding" in lines
    assert "| loading monday" not in lines
    status = couler("status", "latest", "--format", "json").json
    assert status["message"] == "failed: add"
    assert {one["path"]: one["status"] for one in status["steps"]} == {
        "load-to-add": "failed",
        "load": "succeeded",
        "add": "failed",
        "say": "omitted",
    }
    assert {one["path"]: one["status"] for one in status["source_map"]} == {
        "load": "succeeded",
        "add": "failed",
    }
    assert "its step add failed: it ended with exit code 1" in status["steps"][0]["message"]
    assert "it is tried again" in couler("logs", "latest", "add").out
    again = couler("retry", "latest")
    assert again.code == 1
    assert "0 reused" in again.err


def test_the_planning_task(couler: Call, orders: str, folder: Path) -> None:
    told = couler("plan", orders, "--emit", "pddl")
    assert told.code == 0
    assert told.out.startswith("; domain.pddl\n(define (domain operator-grouping)")
    assert "\n; problem.pddl\n(define (problem grouping)" in told.out
    assert "(= (group-cost i0) 50)" in told.out
    options = ("--pass", "group{costs=node, images=['busybox = python']}")
    told = couler("plan", orders, "--emit", "pddl", *options, "-o", "tasks")
    assert "wrote domain.pddl, problem.pddl into tasks" in told.err
    problem = (folder / "tasks" / "problem.pddl").read_text()
    assert "(= (group-cost i0) 1000)" in problem
    assert 'o2 - operator ; "say"' in problem


def test_tasks_that_cannot_be_written(couler: Call, write: Write) -> None:
    plain = write(
        "plain.py",
        "import couler\nwith couler.Workflow('w') as wf:\n"
        "    couler.run_container('busybox', ['true'], step_name='a')\n",
    )
    told = couler("plan", plain, "--emit", "pddl")
    assert told.code == 1
    assert 'no step of "w" can share a pod' in told.err
    assert couler("plan", plain, "--emit", "pddl", "--as", "svg").code == 2


LOG = """\
load | loading monday
add | adding
add ! it ended with exit code 1
couler-group: {"version": 1, "steps": [\
{"name": "load", "state": "succeeded", "attempts": 1, "exit_code": 0, "started": "2026-03-01T12:00:01+00:00", "finished": "2026-03-01T12:00:02+00:00"}, \
{"name": "add", "state": "failed", "attempts": 2, "exit_code": 1, "message": "it ended with exit code 1"}]}
"""  # noqa: E501  # one line in the log


def test_a_run_elsewhere(couler: Call, orders: str, engine: Engine) -> None:
    failed = {
        "path": "load-to-add",
        "status": "failed",
        "exit_code": 1,
        "attempts": [{"status": "failed", "exit_code": 1}],
    }
    engine.play({"status": "failed", "steps": [failed, {"path": "say", "status": "omitted"}]})
    (engine.folder / "logs").mkdir()
    (engine.folder / "logs" / "load-to-add").write_text(LOG)
    told = couler(
        *("submit", orders, "--pass", "group", "--target", "away", "--name", "mine", "--watch")
    )
    assert told.code == 1
    lines = [" ".join(line.split()) for line in told.err.splitlines()]
    assert [line for line in lines if line.startswith("step ")] == [
        'step "add" failed: it ended with exit code 1'
    ]
    assert "| adding" in lines
    status = couler("status", "mine", "--format", "json").json
    assert {one["path"]: (one["status"], one["attempts"]) for one in status["steps"]} == {
        "load-to-add": ("failed", 1),
        "load": ("succeeded", 1),
        "add": ("failed", 2),
        "say": ("omitted", 0),
    }
    assert couler("logs", "mine", "load").out == "loading monday\n"
    told = couler("retry", "mine", "--from", "add")
    assert told.code == 0, told.err
    [call] = engine.calls("restart")
    assert call["again"] == ["load-to-add", "say"]


def test_a_report_of_another_version_here(
    couler: Call, orders: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("couler.ir.grouped.REPORT_VERSION", 2)
    told = couler("run", orders, "--pass", "group", "-p", "expected=7")
    assert told.code == 1
    assert "its report is of version 1, of which version 2 is known here" in told.err
    assert_state_of_the_group(couler("status", "latest", "--format", "json").json)
    told = couler("run", orders, "--pass", "group")
    assert told.code == 0


def assert_state_of_the_group(status: t.Any) -> None:
    assert {one["path"]: one["status"] for one in status["steps"]} == {
        "load-to-add": "failed",
        "say": "omitted",
    }
    assert {one["path"]: one["status"] for one in status["source_map"]} == {
        "load": "failed",
        "add": "failed",
    }
    message = status["steps"][0]["message"]
    assert message.count("how its steps ended is not known: its report is of version") == 1


CONDITION = """
import couler


@couler.step(image="python:3.12-slim")
def size(text: str) -> str:
    return text


@couler.step(image="python:3.12-slim")
def load() -> int:
    return 3


@couler.step(image="python:3.12-slim")
def double(number: int) -> int:
    return 2 * number


with couler.Workflow("large", text="5") as wf:
    with couler.when(size(wf.params.text) > 10):
        doubled = double(load())
    couler.run_container("busybox", ["echo"], args=[couler.or_else(doubled, 0)], step_name="say")
    wf.output("doubled", couler.or_else(doubled, 0))
"""


@pytest.mark.parametrize(
    ("text", "output", "ends"),
    [
        ("11", 6, ("succeeded", "succeeded", "succeeded")),
        ("5", 0, ("skipped", "skipped", "skipped")),
        ("x", None, ("failed", "failed", "omitted")),
    ],
)
def test_a_condition(
    couler: Call, write: Write, text: str, output: int | None, ends: tuple[str, ...]
) -> None:
    file = write("large.py", CONDITION)
    told = couler("run", file, "--pass", "group", "-p", f"text={text}", "--format", "json")
    assert told.json["outputs"] == ({} if output is None else {"doubled": output})
    status = couler("status", "latest", "--format", "json").json
    seen = {one["path"]: one["status"] for one in status["steps"]}
    assert tuple(seen[name] for name in ("load-to-double", "load", "double")) == ends
    assert {one["path"]: one["status"] for one in status["source_map"]} == {
        "load": ends[1],
        "double": ends[2],
    }
