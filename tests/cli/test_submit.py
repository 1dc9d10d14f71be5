"""`couler submit`, with the engine of a third party: what is asked of it, said and recorded."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

HELLO = {
    "path": "hello",
    "status": "succeeded",
    "outputs": {"result": {"text": "x", "type": "str"}},
}
AGAIN = {"path": "again", "status": "succeeded"}
WELL = (
    {"steps": [{"path": "hello", "status": "running"}]},
    {"steps": [HELLO, {"path": "again", "status": "running"}]},
    {"status": "succeeded", "steps": [HELLO, AGAIN], "outputs": {"greeting": "hi you"}},
)


def test_names_are_made_and_json_tells_of_the_run(couler: Callable, greet: str, engine) -> None:
    engine.play(*WELL)
    told = couler("submit", greet, "-e", "scripted", "--format", "json", "-q")
    assert (told.code, told.err) == (0, "")
    run = told.json.pop("run")
    assert re.fullmatch(r"greet-[0-9a-f]{8}", run)
    assert told.json == {
        "schema_version": 1,
        "run": run,
        "workflow": "greet",
        "engine": "scripted",
        "target": "away",
        "status": "running",
        "place": {"object": f"scripted/{run}"},
    }


def test_submitting_twice_is_submitting_once(couler: Callable, greet: str, engine) -> None:
    engine.play(*WELL)
    for _ in range(2):
        told = couler("submit", greet, "--target", "away", "--name", "mine")
        assert (told.code, told.out) == (0, "mine\n")
    assert len(engine.calls("submit")) == 1
    told = couler("submit", greet, "--target", "away", "--name", "mine", "-p", "who=me")
    assert (told.code, told.out) == (4, "")
    assert "there is a run mine already, with other parameters. Choose another" in told.err
    assert "retry" not in told.err


def test_watch_ends_as_run_does(couler: Callable, greet: str, engine) -> None:
    engine.play(*WELL)
    told = couler("submit", greet, "--target", "away", "--watch", "--name", "mine")
    assert (told.code, told.out) == (0, "greeting = hi you\n")
    lines = told.err.splitlines()
    assert [line.split()[:2] for line in lines[1:6]] == [
        ["run", "mine"],
        ["started", "hello"],
        ["succeeded", "hello"],
        ["started", "again"],
        ["succeeded", "again"],
    ]
    assert lines[6].startswith("mine succeeded in ")
    assert lines[7:] == ["logs: couler logs mine"]
    [run] = couler("list", "--format", "json").json["runs"]
    assert (run["run"], run["status"], run["outputs"]) == (
        "mine",
        "succeeded",
        {"greeting": "hi you"},
    )


def test_watch_gives_the_json_and_events_of_run(
    couler: Callable, greet: str, engine, folder: Path
) -> None:
    engine.play(*WELL)
    watch = ("--watch", "--format", "json", "--events", "events")
    elsewhere = couler("submit", greet, "--target", "away", *watch)
    written = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    here = couler("run", greet, "--format", "json", "--events", "events")
    here_written = [json.loads(line) for line in (folder / "events").read_text().splitlines()]
    assert elsewhere.json.keys() == here.json.keys()
    assert [one.keys() for one in elsewhere.json["steps"]] == [
        one.keys() for one in here.json["steps"]
    ]
    assert [(one["event"], one.keys()) for one in written] == [
        (one["event"], one.keys()) for one in here_written
    ]
    assert written[0]["run"] == elsewhere.json["run"]


def test_watch_of_a_failure_shows_the_log_and_how_to_go_on(
    couler: Callable, greet: str, engine
) -> None:
    failed = {
        "path": "hello",
        "status": "failed",
        "message": "exit code 3",
        "exit_code": 3,
        "attempts": [{"status": "failed", "exit_code": 3}, {"status": "failed", "exit_code": 3}],
    }
    engine.play({"status": "failed", "steps": [failed, {"path": "again", "status": "omitted"}]})
    engine.log("hello", "no such host\n")
    told = couler("submit", greet, "--target", "away", "--watch", "--name", "mine")
    assert (told.code, told.out) == (1, "")
    assert 'step "hello" failed: exit code 3\n  | no such host\n  log: ' in told.err
    assert "1 failed, 1 omitted\n" in told.err
    assert told.err.endswith(
        f"resume with couler retry mine\n"
        f"or, once the program is mended, couler retry mine --file {greet}\n"
    )


def test_a_target_can_be_compiled_for(couler: Callable, greet: str, engine, folder: Path) -> None:
    told = couler("compile", greet, "--target", "away")
    assert told.code == 0
    assert told.json["name"] == "greet"
    with (folder / "pyproject.toml").open("a") as settings:
        settings.write('[tool.couler.targets.cluster]\nengine = "argo"\nnamespace = "ml"\n')
    assert "namespace: ml\n" in couler("compile", greet, "--target", "cluster").out
    told = couler("compile", greet, "--target", "cluster", "--namespace", "mine")
    assert "namespace: mine\n" in told.out
    assert couler("compile", greet, "-e", "argo", "--target", "away").code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["-e", "local"], 2, "runs cannot be submitted to local; `couler run` runs a workflow"),
        (["--target", "awya"], 3, 'there is no target "awya".*Did you mean "away"'),
        (["--target", "away", "-e", "argo"], 2, 'the target "away" is of scripted, not of argo'),
        (["--target", "away", "--events", "-"], 2, "--events needs --watch"),
        (["--target", "away", "--name", "No Name"], 2, "is no name of a run"),
        (["--target", "away", "-p", "x=1"], 2, 'no parameter "x"'),
        (["--target", "away", "--create-secrets"], 0, ""),  # the program has none
        ([], 2, r"no engine is chosen. Give -e ENGINE, or --target NAME \(away\)"),
    ],
)
def test_wrong_usage(
    couler: Callable, greet: str, engine, arguments: list[str], code: int, words: str
) -> None:
    engine.play(*WELL)
    told = couler("submit", greet, *arguments)
    assert told.code == code
    assert re.search(words, told.err)
    assert "Traceback" not in told.err
    assert bool(engine.calls()) == (code == 0)


@pytest.mark.slow
def test_a_retry_that_the_engine_refuses_leaves_the_result(
    couler: Callable, greet: str, engine
) -> None:
    busy = {"path": "again", "status": "failed", "message": "etcdserver: request timed out"}
    engine.play(WELL[0], {"status": "failed", "steps": [HELLO, busy]})
    engine.refuse_restarts("it cannot be done")
    told = couler("submit", greet, "--target", "away", "--watch", "--name", "mine")
    assert told.code == 1
    assert "retry 1 of 5" in told.err
    assert "mine was not taken up again: scripted: it cannot be done\n" in told.err
    assert 'step "again" failed: ' in told.err
    assert "resume with couler retry mine\n" in told.err
    shown = couler("status", "mine", "--format", "json").json
    assert (shown["status"], shown["message"]) == ("failed", "failed: again")


def test_unknown_setting_of_an_engine(couler: Callable, greet: str, engine, folder: Path) -> None:
    with (folder / "pyproject.toml").open("a") as settings:
        settings.write('foldr = "x"\n')
    told = couler("submit", greet, "--target", "away")
    assert (told.code, told.out) == (3, "")
    assert 'the target "away": ' in told.err
    assert '"foldr"' in told.err
    assert 'Did you mean "folder"?' in told.err


def test_missing_credential(couler: Callable, greet: str, engine, folder: Path) -> None:
    with (folder / "pyproject.toml").open("a") as settings:
        settings.write('token = { env = "NO_SUCH" }\n')
    told = couler("submit", greet, "--target", "away")
    assert (told.code, told.out) == (3, "")
    assert "the environment has no variable NO_SUCH" in told.err


def test_engine_that_does_not_answer(couler: Callable, greet: str, engine) -> None:
    engine.play(*WELL)
    engine.fail("the server is away")
    told = couler("submit", greet, "--target", "away", "--name", "mine")
    assert (told.code, told.out) == (4, "")
    assert "error: scripted: the server is away" in told.err
    assert "`couler retry mine` submits it again and doubles nothing" in told.err
    engine.fail(None)
    told = couler("submit", greet, "--target", "away", "--name", "mine")
    assert (told.code, told.out) == (0, "mine\n")


@pytest.mark.parametrize(
    ("verb", "number", "told", "code"),
    [
        ("submit", signal.SIGINT, "interrupted", 130),
        ("status", signal.SIGTERM, "told to end (SIGTERM)", 143),
    ],
)
def test_who_stops_watching_leaves_the_run_going_on(
    couler: Callable,
    greet: str,
    engine,
    folder: Path,
    verb: str,
    number: int,
    told: str,
    code: int,
) -> None:
    engine.play(WELL[0])  # it does not end
    submit = ("submit", greet, "--target", "away", "--name", "mine")
    if verb == "status":
        assert couler(*submit).code == 0
    watching = subprocess.Popen(
        [
            *(sys.executable, "-m", "couler.cli"),
            *(submit if verb == "submit" else ("status", "mine")),
            "--watch",
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert watching.stderr is not None
        assert any("hello" in line for line in iter(watching.stderr.readline, ""))
        watching.send_signal(number)
        out, err = watching.communicate()
    finally:
        if watching.poll() is None:
            watching.kill()
            watching.communicate()
    assert (watching.returncode, out) == (code, "")
    assert err.lstrip() == (
        f"error: {told}\n"
        "mine goes on: couler status mine --watch shows it, couler cancel mine ends it\n"
    )
    assert not engine.calls("cancel")


def test_submitting_again_tells_how_the_run_has_ended(couler: Callable, greet: str, engine) -> None:
    submit = ("submit", greet, "--target", "away", "--name", "mine")
    engine.play(WELL[-1])
    assert couler(*submit).code == 0
    told = couler(*submit)
    assert (told.code, told.out) == (0, "mine\n")
    assert told.err.endswith("mine has succeeded at away (scripted) already\n")


def test_submitting_again_a_run_that_failed_is_no_success(
    couler: Callable, greet: str, engine
) -> None:
    submit = ("submit", greet, "--target", "away", "--name", "mine")
    engine.play({"status": "failed", "steps": [{"path": "hello", "status": "failed"}]})
    assert couler(*submit).code == 0
    told = couler(*submit, "--format", "json")
    assert told.code == 1
    assert told.json["status"] == "failed"
    assert told.err.endswith(
        "error: mine was submitted to away (scripted) before, and has ended: failed. couler retry "
        "mine goes on with it; another --name begins anew\n"
    )
