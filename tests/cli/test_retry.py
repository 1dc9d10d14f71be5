"""`couler retry` and `couler run --resume`: what they take over, what they say, the events."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from couler.errors import StateError

FLAKY = """
ir_version: "1"
name: flaky
parameters:
- {name: who, default: you}
steps:
- name: first
  action: {kind: container, image: busybox, command: [sh, -c, "echo ran >> first; echo 1"]}
- name: many
  action: {kind: container, image: busybox, command: [sh, -c, "echo $COULER_INPUT_n; test $COULER_INPUT_n = 1 || test -e FOLDER/ok"]}
  inputs: [{name: n, value: {kind: item, name: n}}]
  foreach: {over: {n: {kind: literal, value: [1, 2]}}}
- name: last
  action: {kind: container, image: busybox, command: [sh, -c, 'echo "hi $COULER_INPUT_who"']}
  inputs: [{name: who, value: {kind: param, name: who}}]
  depends_on: [first, many]
outputs:
- {name: greeting, value: {kind: step, step: last}}
"""  # noqa: E501  # one line in YAML


@pytest.fixture
def flaky(write: Callable, folder: Path) -> str:
    """A workflow whose second item fails until there is a file `ok`."""
    return write("flaky.yaml", FLAKY.replace("FOLDER", str(folder)))


@pytest.fixture
def failed(couler: Callable, flaky: str) -> str:
    """A run of it that has failed."""
    told = couler("run", flaky, "--format", "json", "-q")
    assert told.code == 1
    return told.json["run"]


def test_plan_shows_what_is_reused_and_why_all_else_runs(couler: Callable, failed: str) -> None:
    told = couler("retry", "latest", "--plan")
    assert told.code == 0
    assert [line.split(maxsplit=2) for line in told.out.splitlines()] == [
        ["reused", "first"],
        ["reused", "many[0]"],
        ["runs", "many[1]", "it failed"],
        ["runs", "last", "it depends on many, which runs"],
    ]
    assert told.err == f"{failed}: 1 reused, 2 to run\n"
    told = couler("retry", failed, "--plan", "--format", "json").json
    assert (told["schema_version"], told["run"]) == (1, failed)
    assert told["steps"][2] == {
        "path": "many[1]",
        "verdict": "runs",
        "reason": "it failed",
        "source_steps": [],
    }
    assert couler("list", "--format", "json").json["runs"][0]["status"] == "failed"  # as it was


CACHED = """
ir_version: "1"
name: kept
parameters:
- {name: n, default: 1, type: int}
steps:
- name: first
  action: {kind: container, image: busybox, command: [sh, -c, "test -e FOLDER/ok"]}
- name: list
  cache: {}
  depends_on: [first]
  action: {kind: container, image: busybox, command: [sh, -c, 'echo "[1, $COULER_INPUT_n]"']}
  inputs: [{name: n, type: int, value: {kind: param, name: n}}]
  outputs: [{name: result, type: list}]
- name: many
  cache: {}
  action: {kind: container, image: busybox, command: [sh, -c, "echo $COULER_INPUT_m"]}
  inputs: [{name: m, value: {kind: item, name: m}}]
  foreach: {over: {m: {kind: step, step: list}}}
- name: few
  when: {kind: compare, left: {kind: step, step: list}, op: "==", right: {kind: literal, value: []}}
  action: {kind: container, image: busybox, command: ["true"]}
"""


def test_plan_shows_what_the_cache_has(couler: Callable, write: Callable, folder: Path) -> None:
    file = write("kept.yaml", CACHED.replace("FOLDER", str(folder)))
    (folder / "ok").touch()
    other = couler("run", file, "-p", "n=2", "--format", "json", "-q").json["run"]
    (folder / "ok").unlink()
    run = couler("run", file, "-p", "n=2", "--format", "json", "-q").json["run"]
    before = couler("cache", "ls", "--format", "json").out
    told = couler("retry", run, "--plan")
    made = f"the entry was made by {other} on "
    lines = [line.split(maxsplit=2) for line in told.out.splitlines()]
    assert [line[:2] for line in lines] == [
        ["runs", "first"],
        ["cached", "list"],
        ["cached", "many[0]"],
        ["cached", "many[1]"],
        ["skipped", "few"],
    ]
    assert [line[2].startswith(made) for line in lines] == [False, True, True, True, False]
    assert told.err == f"{run}: 0 reused, 2 cached, 1 to run, 1 skipped\n"
    told = couler("retry", run, "--plan", "--format", "json").json
    assert told["schema_version"] == 1
    assert (told["steps"][1]["path"], told["steps"][1]["verdict"]) == ("list", "cached")
    assert told["steps"][1]["reason"].startswith(made)
    assert couler("cache", "ls", "--format", "json").out == before
    told = couler("retry", run, "--plan", "--no-cache")
    assert told.err == f"{run}: 0 reused, 4 to run\n"
    (folder / "ok").touch()
    told = couler("retry", run, "-p", "n=3")
    assert told.err.startswith(f"{run}: 0 reused, 4 to run\n")
    told = couler("retry", run, "-p", "n=2")
    assert told.err.startswith(f"{run}: 1 reused, 2 cached, 0 to run, 1 skipped\n")


def test_retry_says_first_what_runs(couler: Callable, failed: str, folder: Path) -> None:
    (folder / "ok").touch()
    told = couler("retry", failed, "-p", "who=us")
    assert (told.code, told.out) == (0, "greeting = hi us\n")
    lines = told.err.splitlines()
    assert lines[0] == f"{failed}: 1 reused, 2 to run"
    assert "reused     first" in lines
    assert "started    first" not in lines
    assert "started    many[1]" in lines
    assert ": 1 reused, 2 succeeded" in lines[-2]


def test_retry_with_a_changed_file(couler: Callable, failed: str, flaky: str, folder: Path) -> None:
    text = Path(flaky).read_text().replace("test $COULER_INPUT_n = 1 || ", "").replace("hi", "ho")
    Path(flaky).write_text(text)
    (folder / "ok").touch()
    told = couler("retry", failed, "--file", flaky)
    assert (told.code, told.out) == (0, "greeting = ho you\n")
    assert told.err.startswith(f"{failed}: 1 reused, 2 to run\n")


def test_a_changed_helper_runs_a_step_again(
    couler: Callable, write: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(folder / "lib"))
    monkeypatch.syspath_prepend(str(folder / "lib"))
    write("lib/area.py", "RATE = 2\n")
    flow = """
        import couler


        @couler.step(cache=True)
        def scale(x: int) -> int:
            from area import RATE

            return x * RATE


        with couler.Workflow("flow") as wf:
            wf.output("y", scale(21))
        """
    file = write("flow.py", flow)
    assert couler("run", file).out == "y = 42\n"
    write("lib/area.py", "RATE = 1 + 2\n")  # of another size: bytecode is as old as its source
    assert couler("run", file).out == "y = 63\n"
    write("lib/area.py", "RATE = 1 + 1 + 2\n")
    assert "0 reused, 1 to run" in couler("retry", "latest", "--file", file, "--plan").err


def test_resume_takes_up_what_has_not_succeeded(couler: Callable, flaky: str, folder: Path) -> None:
    told = couler("run", flaky, "--resume")
    assert told.code == 1
    assert told.err.startswith("there is no run of flaky yet: a new one\n")
    [run] = couler("list", "--format", "json").json["runs"]
    (folder / "ok").touch()
    told = couler("run", flaky, "--resume")
    assert (told.code, told.out) == (0, "greeting = hi you\n")
    assert told.err.splitlines()[:2] == [
        f"{run['run']} (failed) is taken up",
        f"{run['run']}: 1 reused, 2 to run",
    ]
    told = couler("run", flaky, "--resume", "-q")
    assert (told.code, told.err) == (0, "")
    assert len(couler("list", "--format", "json").json["runs"]) == 2


def test_events_are_a_line_each(couler: Callable, flaky: str, failed: str, folder: Path) -> None:
    (folder / "ok").touch()
    told = couler("retry", failed, "--events", "events.jsonl")
    assert (told.code, told.out) == (0, "greeting = hi you\n")
    events = [json.loads(line) for line in Path("events.jsonl").read_text().splitlines()]
    assert {(one["schema_version"], one["run"]) for one in events} == {(1, failed)}
    assert events[0]["event"] == "run-started"
    assert [one["time"] for one in events] == sorted(one["time"] for one in events)
    about = {(one["event"], one["path"]): one for one in events if one["event"].startswith("step-")}
    assert about["step-reused", "many[0]"]["status"] == "succeeded"
    begun = about["step-started", "many[1]"]
    assert (begun["name"], begun["item"], begun["attempt"]) == ("many", 1, 2)
    assert Path(begun["log"]).name == "many[1].log"
    assert about["step-finished", "last"]["status"] == "succeeded"
    end = events[-1]
    assert (end["event"], end["status"]) == ("run-finished", "succeeded")
    assert end["outputs"] == {"greeting": "hi you"}


def test_events_on_standard_output_stand_alone(couler: Callable, greet: str) -> None:
    told = couler("run", greet, "--events", "-")
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert [lines[0]["event"], lines[-1]["event"]] == ["run-started", "run-finished"]
    assert couler("run", greet, "--events", "-", "--format", "json").code == 2
    assert couler("run", greet, "--events", "no/such/folder").code == 3


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full disk")
def test_events_that_cannot_be_written_do_not_end_the_run(couler: Callable, greet: str) -> None:
    told = couler("run", greet, "-q", "--events", "/dev/full")
    assert (told.code, told.out) == (0, "greeting = hi you\n")
    assert "the events are not complete" in told.err


def test_a_fault_in_the_middle_says_how_to_go_on(
    couler: Callable, greet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_arguments: object, **_options: object) -> None:
        raise StateError("the disk is full")

    monkeypatch.setattr("couler.state.journal.Journal.run_updated", full)
    told = couler("run", greet, "--events", "events.jsonl")
    assert told.code == 4
    *_, error, note = told.err.splitlines()
    assert error == "error: the disk is full"
    assert note.startswith("resume with couler retry greet-")
    last = json.loads(Path("events.jsonl").read_text().splitlines()[-1])
    assert (last["event"], last["status"]) == ("run-finished", "interrupted")
    monkeypatch.undo()


def test_from_a_step_takes_nothing_of_it_from_the_cache(
    couler: Callable, write: Callable, folder: Path
) -> None:
    file = write("kept.yaml", CACHED.replace("FOLDER", str(folder)))
    (folder / "ok").touch()
    run = couler("run", file, "--format", "json", "-q").json["run"]
    told = couler("retry", run, "--from", "list", "--format", "json").json
    statuses = {one["path"]: one["status"] for one in told["steps"]}
    assert statuses["list"] == "succeeded"  # and not cached
    assert statuses["many[0]"] == "cached"
