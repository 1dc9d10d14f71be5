"""Runs of an engine elsewhere: listed, shown, read, ended, let go on, taken away."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from couler.control import ending, marks
from couler.state import Home, open_database

ASKING = """
ir_version: "1"
name: asking
steps:
- name: each
  action: {kind: container, image: busybox, command: ["true"]}
  inputs: [{name: n, value: {kind: item, name: n}}]
  foreach: {over: {n: {kind: literal, value: [1, 2]}}}
- name: ask
  action: {kind: suspend, message: Go on?}
  outputs: [{name: answer}]
- name: last
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [each, ask]
"""

FIRST = {"path": "each[0]", "status": "succeeded", "outputs": {}}
FAILED = {
    "path": "each[1]",
    "status": "failed",
    "message": "OOMKilled",
    "exit_code": 137,
    "attempts": [{"status": "failed", "exit_code": 137, "message": "OOMKilled"}],
}
ASKED = {"path": "ask", "status": "suspended"}
BEGUN = {"steps": [FIRST, {"path": "each[1]", "status": "running"}, ASKED]}
OVER = {
    "status": "failed",
    "steps": [
        FIRST,
        FAILED,
        {"path": "each", "status": "failed", "attempts": []},
        {"path": "ask", "status": "succeeded"},
        {"path": "last", "status": "omitted"},
    ],
}


@pytest.fixture
def begun(couler: Callable, write: Callable, engine) -> str:
    """A run that goes on, with an item that runs and a step that waits."""
    engine.play(BEGUN, OVER)
    file = write("asking.yaml", ASKING)
    assert couler("submit", file, "--target", "away", "--name", "mine").code == 0
    return "mine"


def test_status_has_the_json_of_local_runs(couler: Callable, begun: str, greet: str) -> None:
    elsewhere = couler("status", begun, "--format", "json").json
    assert couler("run", greet, "-q").code == 0
    here = couler("status", "latest", "--format", "json").json
    assert elsewhere.keys() == here.keys()
    assert elsewhere["steps"][0].keys() == here["steps"][0].keys()
    assert (elsewhere["engine"], elsewhere["target"]) == ("scripted", "away")
    assert (here["engine"], here["target"]) == ("local", None)
    items = {(one["name"], one["item"]): one["status"] for one in elsewhere["steps"]}
    assert items["each", 0] == "succeeded"


def test_status_of_an_engine_that_does_not_answer(couler: Callable, begun: str, engine) -> None:
    couler("status", begun)
    engine.fail("no route to host")
    told = couler("status", begun)
    assert told.code == 4
    assert told.out.startswith("mine  running  on away")
    assert re.search(r"each\[0\] +succeeded", told.out)
    assert told.err == "error: this is what was known last: scripted: no route to host\n"
    told = couler("status", begun, "--format", "json")
    assert (told.code, told.json["status"]) == (4, "running")
    told = couler("status", begun, "--watch")
    assert told.code == 4
    assert "mine  running  on away" in told.out


def test_a_run_that_somebody_deletes_there_is_not_retried(
    couler: Callable, write: Callable, engine
) -> None:
    engine.play(BEGUN, {"status": "deleted"})
    told = couler("submit", write("asking.yaml", ASKING), "--target", "away", "--watch")
    assert told.code == 1
    assert "`couler submit` begins another run" in told.err
    assert "couler retry" not in told.err


def test_status_asks_no_engine_of_a_run_that_is_over(couler: Callable, begun: str, engine) -> None:
    assert couler("status", begun, "--watch").code == 1
    asked = len(engine.calls())
    engine.fail("no route to host")
    told = couler("status", begun)
    assert (told.code, told.err) == (0, "")
    assert told.out.startswith("mine  failed  on away")
    assert "resume with couler retry mine" in told.out
    assert len(engine.calls()) == asked


def test_a_run_that_the_engine_has_no_more(couler: Callable, begun: str, engine) -> None:
    (engine.folder / "mine.run").unlink()
    for _ in range(2):
        told = couler("status", begun)
        assert (told.code, told.err) == (0, "")
        assert told.out.startswith("mine  failed  on away  ")
        assert "scripted has no run mine: asked for at " in told.out
        assert "resume with" not in told.out
    [listed] = couler("list", "--refresh", "--format", "json").json["runs"]
    assert listed["status"] == "failed"
    told = couler("cancel", begun)
    assert (told.code, told.err) == (1, "mine has ended already: failed\n")
    told = couler("retry", begun)
    assert (told.code, told.out) == (4, "")
    assert "nothing of it can be kept; `couler submit` begins another run" in told.err
    assert couler("delete", begun).code == 0


def test_a_run_that_is_there_again(couler: Callable, begun: str, engine) -> None:
    state = engine.folder / "mine.run"
    kept = state.read_text()
    state.unlink()
    assert couler("status", begun, "--format", "json").json["status"] == "failed"
    state.write_text(kept)
    assert couler("status", begun, "--format", "json").json["status"] == "running"


def test_list_tells_engines_apart(couler: Callable, greet: str, begun: str) -> None:
    couler("run", greet, "-q")
    told = couler("list")
    header, here, elsewhere = told.out.splitlines()
    assert header.split()[:4] == ["run", "engine", "target", "status"]
    assert here.split()[1:3] == ["local", "succeeded"]
    assert elsewhere.split()[:4] == ["mine", "scripted", "away", "running"]
    [alone] = couler("list", "--engine", "scripted").out.splitlines()[1:]
    assert alone.split()[:4] == elsewhere.split()[:4]
    both = couler("list", "--format", "json").json["runs"]
    assert [(one["engine"], one["target"]) for one in both] == [
        ("local", None),
        ("scripted", "away"),
    ]
    told = couler("list", "--engine", "scrpted")
    assert told.code == 2
    assert "local, scripted" in told.err
    [line] = couler("list", "--engine", "local").out.splitlines()[1:]
    assert "local" not in line  # of one engine alone, it is not told


def test_list_shows_what_is_known_of_what_cannot_be_asked(
    couler: Callable, begun: str, engine
) -> None:
    engine.fail("no route to host")
    told = couler("list", "--refresh")
    assert told.code == 4
    assert told.out.splitlines()[1].split()[:4] == ["mine", "scripted", "away", "running"]
    assert told.err == "error: mine: scripted: no route to host\n"


def test_logs_of_an_attempt(couler: Callable, begun: str, engine) -> None:
    engine.log("each[1]#1", "of the first\n")
    told = couler("logs", begun, "each[1]", "--attempt", "1")
    assert (told.code, told.out) == (0, "of the first\n")
    told = couler("logs", begun, "each[1]", "--attempt", "2")
    assert (told.code, told.out) == (2, "")
    assert "has had at most 1 attempts; there is no attempt 2" in told.err


@pytest.mark.slow
def test_logs_are_followed_with_steps_that_begin_meanwhile(
    couler: Callable, write: Callable, engine
) -> None:
    begin = {"steps": [{"path": "ask", "status": "succeeded"}]}
    engine.play(begin, BEGUN, OVER)
    engine.log("each[0]", "first\n")
    engine.log("each[1]", "other\n")
    couler("submit", write("asking.yaml", ASKING), "--target", "away", "--name", "mine")
    engine.end_after(2)
    told = couler("logs", "mine", "-f")
    assert told.code == 0
    assert sorted(told.out.splitlines()) == ["each[0] | first", "each[1] | other"]


def test_logs_that_cannot_be_read(couler: Callable, begun: str, engine) -> None:
    couler("status", begun)
    engine.fail("no route to host")
    told = couler("logs", begun, "each[0]")
    assert (told.code, told.out) == (4, "")
    assert 'error: step "each[0]": scripted: no route to host' in told.err
    engine.fail(None)
    told = couler("logs", begun, "eahc")
    assert (told.code, told.out) == (2, "")
    assert 'the workflow "asking" has no step "eahc". Did you mean "each"?' in told.err
    told = couler("logs", begun, "last")
    assert (told.code, told.out) == (4, "")
    assert 'no step "last" has begun' in told.err


def test_logs_that_hold_nothing_are_told_of(couler: Callable, begun: str) -> None:
    told = couler("logs", begun, "each[0]")
    assert (told.code, told.out, told.err) == (0, "", 'mine: step "each[0]" has written nothing\n')
    told = couler("logs", begun)
    assert (told.code, told.out, told.err) == (0, "", "mine: no step has written anything\n")


def test_known_failures_are_told_in_a_line(couler: Callable, begun: str) -> None:
    told = couler("status", begun, "--watch")
    [line] = [line for line in told.out.splitlines() if line.lstrip().startswith("each[1]")]
    assert "failed: each[1]" in told.out
    assert "OOMKilledErr: " in line
    steps = couler("status", begun, "--format", "json").json["steps"]
    assert [one["message"] for one in steps if one["path"] == "each[1]"] == ["OOMKilled"]


def test_a_run_that_waits_to_begin(couler: Callable, write: Callable, engine) -> None:
    engine.play({"steps": []})
    file = write("asking.yaml", ASKING.replace("name: asking", "name: asking\nsuspended: true"))
    couler("submit", file, "--target", "away", "--name", "mine")
    told = couler("resume", "mine")
    assert (told.code, told.err) == (0, "mine begins\n")
    assert engine.calls("resume")[0]["path"] == ""


def test_cancel(couler: Callable, begun: str, engine) -> None:
    told = couler("cancel", begun)
    assert (told.code, told.out) == (0, "")
    assert told.err == "mine is cancelled; resume with couler retry mine\n"
    assert couler("list", "--format", "json").json["runs"][0]["status"] == "cancelled"
    told = couler("cancel", begun)
    assert (told.code, told.err) == (1, "mine has ended already: cancelled\n")


def test_cancel_of_a_run_that_has_failed_meanwhile(couler: Callable, begun: str, engine) -> None:
    state = engine.folder / "mine.run"
    state.write_text(json.dumps({**json.loads(state.read_text()), "stage": 1}))
    told = couler("cancel", begun)
    assert (told.code, told.err) == (1, "mine has ended already: failed\n")
    assert not engine.calls("cancel")


def test_cancel_of_a_run_that_waits_for_a_retry(couler: Callable, begun: str, engine) -> None:
    assert couler("status", begun, "--watch").code == 1
    with open_database(Home.find(os.environ).database_url) as database:
        marks.begin_wait(database, "mine", 60, "etcd was busy: retry 1 of 5", session=1)
    assert re.search(
        r"\nit is taken up again at [\d:]+ UTC: etcd was busy: retry 1 of 5\n",
        couler("status", begun).out,
    )
    told = couler("cancel", begun)
    assert (told.code, told.err) == (0, "mine is cancelled; resume with couler retry mine\n")
    assert "mine  cancelled  on away" in couler("status", begun).out
    assert couler("cancel", begun).code == 1
    assert not engine.calls("cancel")


def test_resume(couler: Callable, begun: str, engine) -> None:
    told = couler("resume", begun)
    assert told.code == 2
    assert "answer" in told.err  # it gives a value on
    told = couler("resume", begun, "ask", "-p", "answer=yes")
    assert (told.code, told.err) == (0, "mine: ask goes on\n")
    [call] = engine.calls("resume")
    assert (call["path"], call["entered"]) == ("ask", {"answer": "yes"})
    told = couler("resume", begun, "aks")
    assert told.code == 2
    assert 'has no step "aks". Did you mean "ask"?' in told.err
    assert couler("resume", begun, "last").code == 4


def test_delete_takes_the_run_from_its_engine_too(
    couler: Callable, begun: str, engine, folder: Path
) -> None:
    told = couler("delete", begun)
    assert told.code == 4
    assert told.err == (
        "error: mine goes on; `couler cancel mine` ends it, `couler delete mine --keep-remote` "
        "forgets it here and leaves it alone there\n"
    )
    couler("cancel", begun)
    told = couler("delete", begun)
    assert (told.code, told.err) == (0, "deleted mine\n")
    assert engine.calls()[-1]["call"] == "delete"
    assert not (engine.folder / "mine.run").exists()
    assert couler("list", "--format", "json").json["runs"] == []


def test_a_run_that_does_not_end_can_be_deleted(
    couler: Callable, begun: str, engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ending, "cancel", partial(ending.cancel, patience_s=-1.0))
    (engine.folder / "deaf").touch()
    told = couler("cancel", begun)
    assert (told.code, told.err) == (
        1,
        "mine was told to end, and has not yet; `couler delete mine` takes it away as it is\n",
    )
    told = couler("delete", begun)
    assert (told.code, told.err) == (0, "deleted mine\n")
    assert not (engine.folder / "mine.run").exists()


def test_delete_of_an_engine_that_is_gone(couler: Callable, begun: str, engine) -> None:
    engine.fail("no route to host")
    told = couler("delete", begun)
    assert told.code == 4
    assert "couler delete mine --keep-remote` deletes what is recorded here" in told.err
    told = couler("delete", begun, "--keep-remote")
    assert (told.code, told.err) == (0, "deleted mine\n")
    assert not engine.calls("delete")
