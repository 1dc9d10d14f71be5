"""What a session takes over from sessions that died, were cancelled, or knew other items."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.errors import StateError
from couler.ir.workflow import ExitHandler, Workflow
from couler.state.database import Database, open_database
from couler.state.home import Home
from couler.state.journal import Journal
from couler.state.results import Event, RunResult
from couler.state.runs import attempts_of, find_run, steps_of
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    on_failure,
    out,
    param,
    parameter,
    ref,
    sh,
)


class Runs:
    """One run in sessions of this process, and what its steps have told."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.home = Home(folder / "home")
        self.told = folder / "told"
        self._options = RunOptions(home=self.home.root, jobs=2)
        self._patch = patch

    def tell(self, what: str) -> str:
        """Return shell that appends a line to what is told."""
        return f"echo {what} >> {self.told}; "

    def run(self, workflow: Workflow, **parameters: object) -> RunResult:
        return LocalBackend().run(workflow, parameters=parameters, options=self._options)

    def retry(self, on_event: Callable[[Event], None] | None = None, **new: object) -> RunResult:
        return LocalBackend().retry(
            "latest", parameters=new, options=self._options, on_event=on_event
        )

    def retry_until(self, path: str, **new: object) -> None:
        """Have a session die as an attempt of a step is about to start."""
        flush = Journal.flush

        def die(journal: Journal) -> None:
            if any(start == path for start, _ in journal._attempt_rows):
                raise StateError("it dies")
            flush(journal)

        with self._patch.context() as patch:
            patch.setattr(Journal, "flush", die)
            with pytest.raises(StateError, match="it dies"):
                self.retry(**new)

    def plan(self) -> dict[str, str]:
        planned = LocalBackend().plan_retry("latest", options=self._options)
        return {step.path: step.verdict for step in planned}

    def status(self) -> str:
        with open_database(self.home.database_url) as database:
            return find_run(database, "latest").status

    def lines(self) -> list[str]:
        return sorted(self.told.read_text(encoding="utf-8").split())

    def recorded(self) -> dict[str, str]:
        with open_database(self.home.database_url) as database:
            run = find_run(database, "latest")
            return {step.path: step.status for step in steps_of(database, run.id)}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Runs:
    return Runs(tmp_path, monkeypatch)


def count(lines: Iterable[str], what: str) -> int:
    return sum(line == what for line in lines)


def test_what_waits_for_a_step_that_ran_again_runs_again_after_a_kill_too(runs: Runs) -> None:
    # Their keys are the same as before: only the order tells that they are out of date.
    inner = group("g", sh("x", runs.tell("x")), depends_on=["a"])
    workflow = flow(
        "w",
        sh("a", f"echo $1; {runs.tell('a')}", param("p"), result=None),
        sh("m", runs.tell("m$1"), item(), foreach=[0, 1], depends_on=["a"]),
        inner,
        # The ends of those before are on disk when it starts.
        sh("late", f"sleep 0.2; {runs.tell('late')}", depends_on=["m", "g"]),
        sh("b", runs.tell("b"), depends_on=["late"]),
        sh("c", runs.tell("c"), depends_on=["b"]),
        sh("other", runs.tell("other")),
        parameters=[parameter("p", "1")],
        exit_handlers=[ExitHandler(name="end", on="any", steps=(sh("t", runs.tell("t")),))],
    )
    runs.run(workflow)
    runs.retry_until("b", p="2")
    assert runs.plan() == {
        "a": "reused",
        "m[0]": "reused",
        "m[1]": "reused",
        "g/x": "reused",
        "late": "runs",
        "b": "runs",
        "c": "runs",
        "other": "reused",
        "exit:end/t": "runs",
    }
    assert runs.retry().status == "succeeded"
    assert runs.lines() == sorted(
        [
            "a",
            "a",
            "m0",
            "m0",
            "m1",
            "m1",
            "x",
            "x",
            "late",
            "late",
            "late",
            "b",
            "b",
            "c",
            "c",
            "t",
            "t",
            "other",
        ]
    )
    # From here on nothing has to run.
    assert set(runs.plan().values()) == {"reused"}
    runs.retry()
    assert len(runs.lines()) == 18


def test_what_is_altered_in_the_store_is_made_again(runs: Runs) -> None:
    # The session that meets it fails, since others may have gone on with it.
    workflow = flow(
        "w",
        sh("a", f"{runs.tell('a')} echo data > f", result=None, outputs=[out("f", "file", "f")]),
        sh("b", f"test -e {runs.told}.go", inputs=[given("f", ref("a", "f"), "file")]),
        outputs=[out("f", "file", source=ref("a", "f"))],
    )

    def alter() -> None:
        for path in (runs.home.root / "store" / "objects").rglob("*"):
            if path.is_file():
                path.chmod(0o644)
                path.write_text("DATA\n", encoding="utf-8")

    runs.run(workflow)
    alter()
    message = runs.retry().steps["b"].message
    assert "altered" in str(message)
    Path(f"{runs.told}.go").touch()
    assert runs.retry().status == "succeeded"
    # What nothing but an output of the workflow reads is met at the very end.
    alter()
    failed = runs.retry()
    assert failed.status == runs.status() == "failed"
    assert "altered" in str(failed.message)
    result = runs.retry()
    assert Path(result.outputs["f"]).read_text(encoding="utf-8") == "data\n"
    assert runs.lines() == ["a", "a", "a"]


def test_order_reaches_through_what_is_left_out(runs: Runs) -> None:
    """What a skipped step waited for has run again: so does what waits for the skipped step."""
    workflow = flow(
        "w",
        sh("a", f"echo $1; {runs.tell('a')}", param("p"), result=None),
        sh("left-out", "true", when=compare(param("p"), "==", "?"), depends_on=["a"]),
        sh("none", "true", item(), foreach=[], depends_on=["left-out"]),
        # It waits for the lock, so that the end of the first step is on disk.
        sh("b", runs.tell("b"), depends_on=["none"], mutex="m"),
        sh("c", runs.tell("c"), depends_on=["b"]),
        sh("holder", "sleep $1", param("p"), mutex="m"),
        parameters=[parameter("p", "0.1")],
    )
    runs.run(workflow)
    runs.retry_until("b", p="0.2")
    plan = runs.plan()
    assert [plan[name] for name in "abc"] == ["reused", "runs", "runs"]
    runs.retry()
    assert runs.lines() == ["a", "a", "b", "b", "c", "c"]


def interrupt_once() -> Callable[[Event], None]:
    """Return what sends an interrupt at the first event."""
    left = [signal.SIGINT]

    def interrupt(_event: Event) -> None:
        if left:
            os.kill(os.getpid(), left.pop())

    return interrupt


def test_cancel_forgets_nothing_that_had_succeeded(runs: Runs) -> None:
    workflow = flow(
        "w",
        sh("a", runs.tell("a")),
        sh("b", runs.tell("b"), depends_on=["a"]),
        sh("m", runs.tell("m$1"), item(), foreach=[0, 1, 2], depends_on=["b"]),
        group("g", sh("x", runs.tell("x")), sh("y", runs.tell("y"), depends_on=["x"])),
        sh("c", f"{runs.tell('c')} test -e {runs.told}.go", depends_on=["m", "g"]),
    )
    assert runs.run(workflow).status == "failed"
    cancelled = runs.retry(interrupt_once())
    assert cancelled.status == "cancelled"
    assert "omitted" in {step.status for step in cancelled.steps.values()}
    Path(f"{runs.told}.go").touch()
    assert runs.retry().status == "succeeded"
    assert runs.lines() == sorted(["a", "b", "m0", "m1", "m2", "x", "y", "c", "c"])


@pytest.mark.slow
def test_records_of_what_the_run_does_not_have_any_more_are_gone_when_it_succeeds(
    runs: Runs,
) -> None:
    made = group(
        "g",
        sh("x", "echo 1"),
        when=compare(param("n"), ">", 2),
        outputs=[out("x", source=ref("x"))],
    )
    workflow = flow(
        "w",
        sh("seed", 'python3 -c "print(list(range($1)))"', param("n"), result="list"),
        sh("m", "test $1 != 2", item(), foreach=ref("seed"), result=None),
        made,
        sh("repair", "true", depends_on=[on_failure("m")]),
        parameters=[parameter("n", 3, type="int")],
        exit_handlers=[ExitHandler(name="bad", on="failure", steps=(sh("t", "true"),))],
    )
    runs.run(workflow)
    assert runs.retry(n=2).status == "succeeded"
    assert runs.recorded() == {
        "seed": "succeeded",
        "m[0]": "succeeded",
        "m[1]": "succeeded",
        "m": "succeeded",
        "g": "skipped",
        "repair": "skipped",
        "exit:bad": "skipped",
    }


def test_items_that_differ_after_a_retry_are_told_apart(runs: Runs) -> None:
    read = given("n", item())
    workflow = flow(
        "w",
        sh("seed", 'echo "$1"', param("items"), result="list"),
        sh(
            "m",
            f"{runs.tell('$COULER_INPUT_n')} echo $COULER_INPUT_n",
            inputs=[read],
            foreach=ref("seed"),
        ),
        sh("all", 'echo "$1"', ref("m"), result="json"),
        parameters=[parameter("items", ["a", "b"], type="list")],
        outputs=[out("all", "json", source=ref("all"))],
    )
    assert runs.run(workflow).outputs == {"all": ["a", "b"]}
    runs.retry_until("m[1]", items=["c", "b", "d"])
    assert runs.retry().outputs == {"all": ["c", "b", "d"]}
    assert set(runs.lines()) == {"a", "b", "c", "d"}


def test_outputs_of_the_session_before_are_not_left_among_those_of_this_one(runs: Runs) -> None:
    workflow = flow(
        "w",
        sh(
            "m",
            "echo $1 > f",
            item(),
            foreach=param("items"),
            result=None,
            outputs=[out("f", "file", "f")],
        ),
        parameters=[parameter("items", [1, 2, 3], type="list")],
        outputs=[out("fs", "list", source=ref("m", "f"))],
    )
    runs.run(workflow)
    result = runs.retry(items=[4])
    assert [Path(path).read_text(encoding="utf-8") for path in result.outputs["fs"]] == ["4\n"]
    assert [path.name for path in (result.folder / "outputs" / "fs").iterdir()] == ["0"]


@pytest.mark.parametrize("depth", range(5))
def test_second_interrupt_as_the_last_step_ends_is_the_end_without_a_word(
    depth: int, runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    def interrupt(event: Event) -> None:
        if str(event.path).endswith("slow") and event.kind in ("started", "finished"):
            os.kill(os.getpid(), signal.SIGINT)

    step = sh("slow", "sleep 60")
    for number in range(depth):  # each tells its end a turn of the event loop later
        step = group(f"g{number}", step)
    with contextlib.suppress(KeyboardInterrupt):  # the run may have ended before it
        LocalBackend().run(
            flow("w", step), options=RunOptions(home=runs.home.root), on_event=interrupt
        )
    assert runs.status() == "cancelled"
    assert [record.getMessage() for record in caplog.records] == []


def test_attempts_that_a_second_interrupt_cut_off_are_recorded_as_cancelled(runs: Runs) -> None:
    def interrupt(event: Event) -> None:
        if event.kind == "started":
            for number in range(2):
                loop = asyncio.get_running_loop()
                loop.call_later(0.3 + number / 5, os.kill, os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        LocalBackend().run(
            flow("w", sh("deaf", "trap '' TERM; sleep 60")),
            options=RunOptions(home=runs.home.root),
            on_event=interrupt,
        )
    with open_database(runs.home.database_url) as database:
        [attempt] = attempts_of(database, find_run(database, "latest").id)
    assert (attempt.status, attempt.message) == ("cancelled", "the run was cancelled")


def test_log_of_an_attempt_begins_on_a_line_of_its_own(runs: Runs) -> None:
    step = sh("a", "printf half; test -e $1 && exit 0; touch $1; exit 1", f"{runs.told}.there")
    runs.run(flow("w", step))
    log = runs.retry().steps["a"].log
    assert log is not None
    assert log.read_text(encoding="utf-8") == "half\n--- attempt 2 ---\nhalf"


def test_interrupt_after_the_end_has_no_effect(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    close = Database.close

    def close_late(database: Database) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        close(database)

    monkeypatch.setattr(Database, "close", close_late)
    assert runs.run(flow("w", sh("a", "true"))).status == "succeeded"
    assert runs.retry().status == "succeeded"
