"""`couler retry` of runs of an engine elsewhere: planned, taken up, submitted again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

CHAIN = """
ir_version: "1"
name: chain
parameters:
- {name: who, default: you}
steps:
- name: fetch
  action: {kind: container, image: busybox, command: ["true"]}
- name: fit
  action: {kind: container, image: busybox, command: [sh, -c, 'echo "$COULER_INPUT_who"']}
  inputs: [{name: who, value: {kind: param, name: who}}]
  depends_on: [fetch]
- name: tell
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [fit]
"""

FETCHED = {"path": "fetch", "status": "succeeded"}
BROKEN = {
    "path": "fit",
    "status": "failed",
    "message": "no such model",
    "exit_code": 1,
    "attempts": [{"status": "failed", "exit_code": 1}],
}
MENDED = {
    "path": "fit",
    "status": "succeeded",
    "attempts": [{"status": "failed", "exit_code": 1}, {"status": "succeeded"}],
}
FAILED = {"status": "failed", "steps": [FETCHED, BROKEN, {"path": "tell", "status": "omitted"}]}
AGAIN = (
    {"steps": [FETCHED, {"path": "fit", "status": "running"}]},
    {"status": "succeeded", "steps": [FETCHED, MENDED, {"path": "tell", "status": "succeeded"}]},
)


@pytest.fixture
def file(write: Callable) -> str:
    return write("chain.yaml", CHAIN)


SMALL = """
ir_version: "1"
name: sizes
steps:
- name: small
  action: {kind: container, image: busybox, command: ["true"]}
  when:
    kind: compare
    op: "<"
    left: {kind: literal, value: 2}
    right: {kind: literal, value: 1}
"""


@pytest.fixture
def failed(couler: Callable, file: str, engine) -> str:
    """A run that failed at its second step."""
    engine.play(FAILED, again=AGAIN)
    told = couler("submit", file, "--target", "away", "--name", "mine", "--watch")
    assert told.code == 1
    return "mine"


def test_plan_changes_nothing(couler: Callable, failed: str, engine) -> None:
    told = couler("retry", failed, "--plan")
    assert told.code == 0
    assert [line.split(maxsplit=2) for line in told.out.splitlines()] == [
        ["reused", "fetch"],
        ["runs", "fit", "it failed"],
        ["runs", "tell", "it depends on fit, which runs"],
    ]
    assert told.err == "mine: 1 reused, 2 to run\n"
    told = couler("retry", failed, "--plan", "--format", "json").json
    assert (told["schema_version"], told["run"]) == (1, "mine")
    assert told["steps"][1] == {
        "path": "fit",
        "verdict": "runs",
        "reason": "it failed",
        "source_steps": [],
    }
    assert not engine.calls("restart")
    assert couler("list", "--format", "json").json["runs"][0]["status"] == "failed"


def test_what_failed_and_what_follows_runs_again(couler: Callable, failed: str, engine) -> None:
    told = couler("retry", failed)
    assert (told.code, told.out) == (0, "mine\n")
    assert told.err == (
        "mine: 1 reused, 2 to run\n"
        "mine goes on at away (scripted); couler status mine --watch shows how it goes\n"
    )
    [call] = engine.calls("restart")
    assert call["again"] == ["fit", "tell"]
    told = couler("status", failed, "--watch")
    assert told.code == 0
    assert "mine  succeeded  on away" in told.out


def test_from_a_step_on(couler: Callable, failed: str, engine) -> None:
    assert couler("retry", failed, "--from", "fetch").code == 0
    [call] = engine.calls("restart")
    assert call["again"] == ["fetch", "fit", "tell"]


def test_from_a_step_that_is_left_out(couler: Callable, write: Callable, engine) -> None:
    small = {"path": "small", "status": "skipped", "message": "its condition is false"}
    engine.play({"status": "succeeded", "steps": [small]})
    couler("submit", write("small.yaml", SMALL), "--target", "away", "--name", "mine", "--watch")
    for plan in ([], ["--plan"]):
        told = couler("retry", "mine", "--from", "small", *plan)
        assert told.code == 0
        assert "note: --from small runs nothing of it: it stays skipped, as " in told.err
        assert "--from STEP" not in told.err
    told = couler("retry", "mine", "--from", "smal")
    assert told.code == 2
    assert 'has no step "smal". Did you mean "small"?' in told.err


def test_with_a_changed_file_and_parameter(
    couler: Callable, write: Callable, failed: str, engine
) -> None:
    told = couler("retry", failed, "-p", "who=me", "--plan")
    assert "reused  fetch" in told.out
    changed = write("chain.yaml", CHAIN.replace('["true"]', '["date"]', 1))
    told = couler("retry", failed, "--file", changed, "-p", "who=me")
    assert told.code == 0
    [call] = engine.calls("restart")
    assert call["again"] == ["fetch", "fit", "tell"]
    assert call["parameters"] == {"who": "me"}


def test_a_run_that_failed_in_none_of_its_steps(couler: Callable, file: str, engine) -> None:
    steps = [FETCHED, {"path": "fit", "status": "succeeded"}]
    steps.append({"path": "tell", "status": "succeeded"})
    told = {"status": "failed", "message": "its last task failed", "steps": steps}
    engine.play(told, again=[{"status": "succeeded", "steps": steps}])
    assert couler("submit", file, "--target", "away", "--name", "mine", "--watch").code == 1
    told = couler("retry", "mine", "--watch")
    assert (told.code, "nothing is to run again" in told.err) == (0, False)
    [call] = engine.calls("restart")
    assert call["again"] == []


def test_a_run_that_goes_on(couler: Callable, file: str, engine) -> None:
    engine.play(AGAIN[0])
    couler("submit", file, "--target", "away", "--name", "mine")
    told = couler("retry", "mine")
    assert (told.code, told.err) == (4, "error: mine goes on; `couler cancel mine` ends it\n")


def test_a_run_that_may_not_have_begun_is_submitted_again(
    couler: Callable, file: str, engine
) -> None:
    engine.play(*AGAIN)
    engine.fail("the server is away")
    assert couler("submit", file, "--target", "away", "--name", "mine").code == 4
    told = couler("status", "mine")
    assert told.code == 4
    assert "it is not known whether the engine has it" in told.err
    told = couler("retry", "mine", "--from", "fit")
    assert told.code == 2
    assert "mine has not begun" in told.err
    engine.fail(None)
    told = couler("retry", "mine", "--watch")
    assert told.code == 0
    assert len(engine.calls("submit")) == 2
    assert not engine.calls("restart")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-j", "2"], "--jobs is for runs of this machine, and mine is of scripted"),
        (["--no-cache"], "--no-cache is for runs of this machine"),
        (["--events", "-"], "need --watch"),
        (["--retries", "1"], "need --watch"),
        (["--plan", "--watch"], "--plan changes nothing"),
    ],
)
def test_options_that_do_not_fit(
    couler: Callable, failed: str, engine, arguments: list[str], words: str
) -> None:
    told = couler("retry", failed, *arguments)
    assert (told.code, told.out) == (2, "")
    assert words in told.err
    assert not engine.calls("restart")


def test_what_is_known_to_pass_is_tried_again_while_it_is_watched(
    couler: Callable, file: str, engine
) -> None:
    busy = {**BROKEN, "message": "etcdserver: leader changed"}
    engine.play({"status": "failed", "steps": [FETCHED, busy]}, again=AGAIN)
    told = couler("submit", file, "--target", "away", "--name", "mine", "--watch")
    assert told.code == 0
    assert "\nEtcdLeaderChangedErr: retry 1 of 5 in " in told.err
    assert len(engine.calls("restart")) == 1
