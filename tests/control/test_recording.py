"""What an engine elsewhere tells is written as it changes, and told once."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from couler.backends.remote import Observation, Observed, ObservedAttempt, RunState, StepState
from couler.control.attempts import UNTOLD
from couler.control.recording import Recorded, Recorder
from couler.ir.walk import StepPath
from couler.stages import RunEvent
from couler.state import (
    AttemptRecord,
    Database,
    Journal,
    RunRecord,
    StepRecord,
    attempts_of,
    begin_session,
    create_run,
    find_run,
    open_database,
    steps_of,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    """Return a time, in seconds after noon."""
    return NOON + timedelta(seconds=seconds)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with open_database(f"sqlite:///{tmp_path / 'couler.db'}") as opened:
        create_run(opened, RunRecord("r1", "train", "0" * 64, "argo", NOON), "{}")
        yield opened


class Watch:
    """A process that follows the run."""

    def __init__(self, database: Database, *, is_restart: bool = False) -> None:
        self._database = database
        session = begin_session(database, "r1", pid=1, host="here", started=NOON)
        self._journal = Journal(database, "r1", session)
        recorded = Recorded.read(database, "r1")
        self._now = 1000.0
        self._recorder = Recorder(
            self._journal, recorded, is_restart=is_restart, clock=lambda: at(self._now)
        )

    def see(self, *steps: Observed, status: RunState = "running", **fields: object) -> list[str]:
        """Show it an observation, and return what it told."""
        self._now += 1
        events = self._recorder.record(Observation(status, steps, **fields))  # type: ignore[arg-type]  # fields of an observation
        return [tell(event) for event in events]

    def close(self) -> None:
        self._journal.close()


@pytest.fixture
def watch(database: Database) -> Iterator[Callable[..., Watch]]:
    """Begin to follow the run; several processes may, one after another."""
    opened: list[Watch] = []

    def begin(*, is_restart: bool = False) -> Watch:
        for before in opened:
            before.close()
        opened.append(Watch(database, is_restart=is_restart))
        return opened[-1]

    yield begin
    for one in opened:
        one.close()


def tell(event: RunEvent) -> str:
    """Return an event in short."""
    words = [event.kind, str(event.path)]
    if event.status is not None:
        words.append(event.status)
    if event.attempt is not None:
        words.append(f"#{event.attempt}")
    if event.message is not None:
        words.append(f"({event.message})")
    return " ".join(words)


def attempt(number: int, begin: float, end: float | None, **fields: object) -> ObservedAttempt:
    status = "running" if end is None else "failed"
    told: dict[str, object] = {"status": status, **fields}
    finished = None if end is None else at(end)
    return ObservedAttempt(number, started=at(begin), finished=finished, **told)  # type: ignore[arg-type]  # fields of an attempt


def good(path: str, begin: float = 1, end: float = 2, **fields: object) -> Observed:
    """Return a step that succeeded at once."""
    tried = (attempt(1, begin, end, status="succeeded", exit_code=0),)
    told: dict[str, object] = {"attempts": tried, "exit_code": 0, **fields}
    return Observed(StepPath.parse(path), "succeeded", at(begin), at(end), **told)  # type: ignore[arg-type]  # fields of a step


def bad(path: str, begin: float = 1, end: float = 2, **fields: object) -> Observed:
    """Return a step that failed at once."""
    tried = (attempt(1, begin, end, exit_code=3, message="exit code 3"),)
    told: dict[str, object] = {"attempts": tried, "exit_code": 3, "message": "exit code 3"}
    return Observed(StepPath.parse(path), "failed", at(begin), at(end), **{**told, **fields})  # type: ignore[arg-type]  # fields of a step


def going(path: str, begin: float = 1, **fields: object) -> Observed:
    """Return a step that is under way."""
    tried = (attempt(1, begin, None),)
    told: dict[str, object] = {"status": "running", "attempts": tried, **fields}
    return Observed(StepPath.parse(path), started=at(begin), **told)  # type: ignore[arg-type]  # fields of a step


def whole(path: str, status: StepState, begin: float = 1, end: float | None = None) -> Observed:
    """Return a group, a foreach or a loop."""
    finished = None if end is None else at(end)
    return Observed(StepPath.parse(path), status, at(begin), finished)


def ends(database: Database) -> dict[str, tuple[str, int, int]]:
    """Return status, session and ordinal of what is recorded."""
    return {it.path: (it.status, it.session, it.ordinal) for it in steps_of(database, "r1")}


def tries(database: Database, path: str) -> list[tuple[int, str]]:
    return [(it.number, it.status) for it in attempts_of(database, "r1", path=path)]


def test_a_run_is_recorded_as_it_goes(database: Database, watch: Callable[..., Watch]) -> None:
    one = watch()
    assert one.see() == []
    assert one.see(going("a")) == ["started a #1"]
    assert ends(database) == {}
    assert tries(database, "a") == [(1, "running")]
    outputs = {"result": {"text": "7", "type": "int"}}
    assert one.see(good("a", outputs=outputs), going("b", 3)) == [
        "finished a succeeded #1",
        "started b #1",
    ]
    assert one.see(
        good("a", outputs=outputs),
        bad("b", 3, 4),
        status="failed",
        message="a step failed",
        finished=at(5),
    ) == ["finished b failed #1 (exit code 3)"]
    [first, second] = steps_of(database, "r1")
    assert first == StepRecord(
        "a", "a", "succeeded", at(2), 1, 1, None, None, outputs, at(1), 1, None, 0
    )
    assert (second.message, second.exit_code, second.ordinal) == ("exit code 3", 3, 2)
    assert attempts_of(database, "r1", path="b") == [
        AttemptRecord("b", 1, 1, at(3), "failed", at(4), 3, "exit code 3")
    ]
    run = find_run(database, "r1")
    assert (run.status, run.message, run.finished) == ("failed", "a step failed", at(5))


def test_outputs_of_a_run(database: Database, watch: Callable[..., Watch]) -> None:
    watch().see(good("a"), status="succeeded", outputs={"n": [1]})
    run = find_run(database, "r1")
    assert (run.status, run.outputs) == ("succeeded", {"n": [1]})
    assert run.finished == at(1001)  # the engine did not tell


def test_attempts_that_the_engine_forgets_are_ended(
    database: Database, watch: Callable[..., Watch]
) -> None:
    one = watch()
    one.see(going("a"), going("b"))
    one.see(good("a", attempts=()), bad("b", attempts=()))
    assert tries(database, "a") == [(1, "succeeded")]
    [lost] = attempts_of(database, "r1", path="b")
    assert (lost.status, lost.message) == ("error", UNTOLD)


def test_an_attempt_is_no_more_under_way_than_its_step(
    database: Database, watch: Callable[..., Watch]
) -> None:
    one = watch()
    one.see(going("a"))
    ended = bad("a", attempts=(attempt(1, 1, None),))
    one.see(ended)
    one.see(replace(ended, message="told later"))
    [tried] = attempts_of(database, "r1")
    assert (tried.status, tried.finished) == ("error", at(1002))  # when it was seen first
    assert steps_of(database, "r1")[0].message == "told later"


def test_a_step_that_waits_for_a_person(watch: Callable[..., Watch]) -> None:
    one = watch()
    waits = Observed(StepPath.parse("ask"), "suspended", at(1), message="is it good?")
    assert one.see(waits) == ["started ask", "suspended ask (is it good?)"]
    assert one.see(waits) == []
    assert one.see(replace(waits, status="succeeded", finished=at(9), message=None)) == [
        "finished ask succeeded"
    ]


def test_why_a_step_waits_is_told_when_it_changes(watch: Callable[..., Watch]) -> None:
    one = watch()
    waits = Observed(StepPath.parse("fit"), "waiting", message="no node has room")
    assert one.see(waits) == ["warned fit (it waits: no node has room)"]
    assert one.see(waits) == []
    assert one.see(replace(waits, message="its image cannot be pulled")) == [
        "warned fit (it waits: its image cannot be pulled)"
    ]
    assert one.see(going("fit")) == ["started fit #1"]


def test_items_that_appear_later(database: Database, watch: Callable[..., Watch]) -> None:
    one = watch()
    assert one.see(whole("m", "running"), going("m[0]")) == ["started m", "started m[0] #1"]
    assert one.see(
        good("m[1]", 1, 2), good("m[0]", 1, 3), whole("m", "running"), going("m[2]", 3)
    ) == [
        "started m[1] #1",
        "finished m[1] succeeded #1",
        "finished m[0] succeeded #1",
        "started m[2] #1",
    ]
    assert ends(database) == {"m[1]": ("succeeded", 1, 1), "m[0]": ("succeeded", 1, 2)}
    assert [it.item for it in steps_of(database, "r1")] == [(1,), (0,)]


def test_an_answer_that_is_older_than_the_one_before(
    database: Database, watch: Callable[..., Watch]
) -> None:
    one = watch()
    one.see(good("a"), going("b", 3))
    before = ends(database)
    assert one.see(going("a")) == []
    assert one.see(good("a"), going("b", 3)) == ["started b #1"]  # it was not there
    assert ends(database) == before


def test_another_process_goes_on(database: Database, watch: Callable[..., Watch]) -> None:
    one, first = watch(), attempt(1, 2, 3)
    one.see(good("a"), going("b", 2, status="retrying", attempts=(first,)), going("c", 2))
    two = watch()
    assert two.see(
        good("a"), going("b", 2, attempts=(first, attempt(2, 4, None))), bad("c", 2, 3)
    ) == [
        "finished a succeeded #1",
        "started b #2",
        "started c #1",
        "finished c failed #1 (exit code 3)",
    ]
    assert ends(database) == {"a": ("succeeded", 1, 1), "c": ("failed", 2, 2)}
    assert tries(database, "b") == [(1, "failed"), (2, "running")]
    assert tries(database, "c") == [(1, "failed")]


def test_another_process_writes_nothing_twice(
    watch: Callable[..., Watch], monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = good("a"), bad("b"), going("c")
    watch().see(*steps)
    two = watch()
    for name in ("step_ended", "attempt_started", "attempt_ended", "forget"):
        monkeypatch.setattr(Journal, name, lambda *_, **__: pytest.fail("it is written again"))
    assert len(two.see(*steps)) == 3


def test_a_restart(database: Database, watch: Callable[..., Watch]) -> None:
    skipped = Observed(StepPath.parse("s"), "skipped")
    omitted = Observed(StepPath.parse("z"), "omitted")
    watch().see(good("a"), skipped, bad("m[0]", 3, 4), good("m[1]", 3, 5), omitted, status="failed")
    two = watch(is_restart=True)
    assert two.see(good("a"), skipped, good("m[1]", 3, 5), going("m[0]", 20)) == [
        "reused a succeeded #1",
        "finished s skipped",
        "reused m[1] succeeded #1",
        "started m[0] #2",
    ]
    kept = {"a": ("succeeded", 1, 1), "s": ("skipped", 1, 2), "m[1]": ("succeeded", 1, 4)}
    assert ends(database) == kept
    assert two.see(
        good("a"),
        skipped,
        good("m[1]", 3, 5),
        good("m[0]", 20, 21),
        good("z", 22, 23),
        status="succeeded",
    ) == ["finished m[0] succeeded #2", "started z #1", "finished z succeeded #1"]
    assert ends(database) == {**kept, "m[0]": ("succeeded", 2, 6), "z": ("succeeded", 2, 7)}
    assert tries(database, "m[0]") == [(1, "failed"), (2, "succeeded")]
    assert find_run(database, "r1").status == "succeeded"


def test_attempts_of_several_restarts(database: Database, watch: Callable[..., Watch]) -> None:
    for session in range(3):
        begin = 100 * session
        one = watch(is_restart=session > 0)
        early = ObservedAttempt(1, "running", at(begin))
        one.see(going("a", begin, attempts=(early,)))
        one.see(going("a", begin + 5, attempts=(attempt(1, begin + 5, None),)))
        tried = attempt(1, begin + 5, begin + 6), attempt(2, begin + 7, begin + 8)
        one.see(bad("a", begin + 5, begin + 8, attempts=tried), status="failed")
    assert tries(database, "a") == [(number, "failed") for number in range(1, 7)]
    assert steps_of(database, "r1")[0].attempts == 6


def test_a_run_that_somebody_else_takes_up_again(
    database: Database, watch: Callable[..., Watch]
) -> None:
    one = watch()
    one.see(bad("a"), status="failed", message="a failed", finished=at(3))
    assert one.see(going("a", 9)) == ["started a #2"]
    run = find_run(database, "r1")
    assert (run.status, run.message, run.finished) == ("running", None, None)
    assert ends(database) == {}
    one.see(good("a", 9, 10), status="succeeded", finished=at(11))
    assert find_run(database, "r1").finished == at(11)


def test_any_order_of_any_moments_comes_to_the_same_end(
    database: Database, watch: Callable[..., Watch]
) -> None:
    dice = random.Random(6)
    names = [f"m[{index}]" for index in range(20)]
    for turn in range(6):
        one, begin, end = watch(is_restart=turn > 0), 10 * turn, 10 * turn + 5
        for look in range(6):
            steps = [
                good(name, begin, end) if dice.random() < look / 5 else going(name, begin)
                for name in names
                if dice.random() < 0.9
            ]
            dice.shuffle(steps)
            one.see(*steps)
        one.see(*[good(name, begin, end) for name in names], status="succeeded")
        found = ends(database)
        assert set(found) == set(names)
        assert {(status, session) for status, session, _ in found.values()} == {
            ("succeeded", turn + 1)
        }
        assert len({ordinal for _, _, ordinal in found.values()}) == len(names)
        for name in names:
            assert [status for _, status in tries(database, name)] == ["succeeded"] * (turn + 1)
