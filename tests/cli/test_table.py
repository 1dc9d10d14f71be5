"""The table that lives on a terminal: its rows, what is marked, and what fits."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from couler.cli._again import Again
from couler.cli._options import PassFlags
from couler.cli._progress import Board
from couler.ir.policies import Profile
from couler.ir.walk import StepPath
from couler.ir.workflow import Container, Output, Step, Suspend, Workflow


@dataclass
class Event:
    kind: t.Any
    path: StepPath
    status: str | None = None
    message: str | None = None
    log: Path | None = None
    attempt: int | None = None
    run: str = "w-1"
    elapsed_s: float | None = None


def step(name: str, *after: str, seconds: float | None = None) -> Step:
    action = Container(image="busybox", command=("true",))
    profile = None if seconds is None else Profile(seconds=seconds)
    return Step(name=name, action=action, depends_on=after, profile=profile)


FLOW = Workflow(name="w", steps=(step("a"), step("b"), step("c", "a"), step("d", "b", seconds=0.5)))


def tell(board: Board, *events: tuple[str, str, t.Any]) -> None:
    for kind, path, more in events:
        board.tell(Event(kind, StepPath.parse(path), **more))


def shown(board: Board, width: int = 90, height: int = 24) -> list[str]:
    console = Console(width=width, height=height)
    with console.capture() as captured:
        console.print(board.render(height))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_rows_tell_what_runs_and_what_failed_inside() -> None:
    board = Board(FLOW, Again())
    tell(
        board,
        ("started", "a", {}),
        ("started", "a[0]", {"attempt": 1, "log": Path("/runs/w-1/logs/a[0].log")}),
        ("started", "a[1]", {"attempt": 1, "log": Path("/runs/w-1/logs/a[1].log")}),
        ("finished", "a[0]", {"status": "succeeded", "attempt": 1}),
        ("retrying", "a[1]", {"message": "it ended with exit code 1", "attempt": 1}),
        ("started", "b", {"attempt": 1}),
        ("suspended", "b", {"attempt": 1}),
    )
    rows = {row.label: row for row in board.rows()}
    assert list(rows) == ["a", "a[1]", "b", "c", "d"]
    assert (rows["a"].state, rows["a"].inside, rows["a"].is_critical) == ("running", 1, True)
    assert (rows["a[1]"].state, rows["a[1]"].depth, rows["a[1]"].attempt) == ("retrying", 1, 1)
    assert rows["b"].note == "couler resume w-1 b"
    assert rows["d"].state == "waiting"
    tell(board, ("finished", "a[1]", {"status": "failed", "message": "no", "attempt": 2}))
    assert [row.label for row in board.rows() if row.state == "failed"] == ["a[1]"]


def test_what_is_asked_is_shown() -> None:
    question = Suspend(message="Which rate?")
    outputs = (Output(name="rate", type="float"), Output(name="note", default="none"))
    asks = Step(name="ask", action=question, outputs=outputs)
    board = Board(Workflow(name="w", steps=(asks,)), Again())
    tell(board, ("started", "ask", {"attempt": 1}), ("suspended", "ask", {"attempt": 1}))
    [row] = board.rows()
    assert row.note == "Which rate?  couler resume w-1 ask -p rate=..."


def test_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    board = Board(FLOW, Again())
    log = Path("/runs/w-1/logs/a.log")
    tell(board, ("started", "a", {"attempt": 1, "log": log}), ("reused", "b", {"attempt": 2}))
    title, header, a, b, c, *_, legend, footer = shown(board)
    assert title.startswith("w-1  1 of 4 steps ended  0.0 s")
    assert header.split() == ["step", "state", "elapsed", "try"]
    assert a.split()[1:] == ["a", "running", "0.0", "s", "1", "log:", "a.log"]
    assert b.split() == ["b", "reused", "2"]
    assert c.split()[1:] == ["c", "waiting"]
    assert a[0] == c[0] == legend[0] != b[0]
    assert footer == "logs: /runs/w-1/logs"
    assert header.index("elapsed") + len("elapsed") == a.index("0.0 s") + len("0.0 s")


@pytest.mark.parametrize("height", [8, 12, 24])
@pytest.mark.parametrize("width", [30, 80])
def test_the_table_fits(height: int, width: int) -> None:
    steps = tuple(step(f"step-{number}") for number in range(50))
    board = Board(Workflow(name="w", steps=steps), Again())
    log = Path("/some/where/" + "long/" * 30) / "x.log"
    tell(board, *(("started", one.name, {"attempt": 1, "log": log}) for one in steps[40:]))
    tell(board, ("finished", "step-45", {"status": "failed", "message": "because\nof it"}))
    lines = shown(board, width=width, height=height)
    assert len(lines) < height
    assert max(map(len, lines)) <= width
    assert any("step-45" in line for line in lines)


def test_commands_can_be_copied() -> None:
    again = Again(home=Path("my runs"), file="flow.py:train")
    assert again.retry("w-1") == "couler retry w-1 --home 'my runs'"
    assert again.retry_mended("w-1") == "couler retry w-1 --file flow.py:train --home 'my runs'"
    assert Again(file="-").retry_mended("w-1") is None
    passes = PassFlags("tidy", ("split{run_steps=9}",), ("roll-loops",))
    assert Again(file="flow.py", with_file=passes.words).retry_mended("w-1") == (
        "couler retry w-1 --file flow.py --pipeline tidy --pass 'split{run_steps=9}' "
        "--no-pass roll-loops"
    )
    assert Again().resume("w-1", "each[0]") == "couler resume w-1 'each[0]'"


def test_what_went_wrong_and_ends_nothing_stays_in_the_footer() -> None:
    board = Board(FLOW, Again())
    tell(
        board,
        ("warned", "a", {"message": "the cache policy Guess failed"}),
        ("finished", "a", {"status": "succeeded"}),
    )
    assert "warning: a: the cache policy Guess failed" in shown(board)[-1]
