"""The log of calls: all that was asked and answered, for its owner alone, without the key."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest

from couler.errors import ConfigurationError, LanguageModelError, ModelAnswerError
from couler.llm import Message, Price, open_model
from couler.llm.call_log import read_log
from tests.llm.conftest import KEY, PROMPT, Task, World


def test_a_call_is_a_line(world: World) -> None:
    model = world.model(
        [{"status": 429, "retry_after": 0.001, "times": 1}, {"reply": "ä\u2028b"}],
        prices={"*": Price(1.0, 1.0)},
    )
    model.ask(PROMPT, temperature=0.5, seed=3)
    [call] = read_log(world.log)
    assert call["prompt"] == {"name": "decompose", "version": "2"}
    assert call["messages"] == [one._asdict() for one in PROMPT.messages]
    assert (call["answer"], call["status"], call["error"]) == ("ä\u2028b", 200, None)
    assert (call["temperature"], call["seed"], call["model"]) == (0.5, 3, "scripted")
    assert call["retries"] == 1
    assert call["usage"]["prompt_tokens"] == 22
    assert call["usage"]["cost"] == pytest.approx(24e-6)
    assert call["time"].endswith("+00:00")


def test_halves_of_characters_in_prompts_are_logged(world: World, tmp_path: Path) -> None:
    file = tmp_path / "dialogue.jsonl"
    prompt = PROMPT.followed_by(Message("user", "a\ud800b\u2028c"))
    assert world.model([{"reply": "fine"}], record=file).ask(prompt).text == "fine"
    [call] = read_log(world.log)
    assert call["messages"][-1]["content"] == "a\ud800b\u2028c"
    with open_model(world.settings(), replay=file) as replayed:
        assert replayed.ask(prompt).text == "fine"


def test_only_its_owner_reads_it(world: World) -> None:
    before = os.umask(0)
    try:
        world.model([{"reply": "x"}]).ask(PROMPT)
    finally:
        os.umask(before)
    assert stat.S_IMODE(world.log.stat().st_mode) == 0o600
    assert stat.S_IMODE(world.log.parent.stat().st_mode) == 0o700


def test_a_log_that_others_could_read_is_closed_to_them(world: World) -> None:
    world.log.parent.mkdir()
    world.log.touch()
    world.log.chmod(0o644)
    world.model([{"reply": "x"}]).ask(PROMPT)
    assert stat.S_IMODE(world.log.stat().st_mode) == 0o600


def test_calls_that_fail_are_logged(world: World) -> None:
    down = {"status": 500, "times": 5, "retry_after": 0.001}
    model = world.model([down, {"reply": "half", "finish_reason": "length"}])
    with pytest.raises(LanguageModelError):
        model.ask(PROMPT)
    with pytest.raises(ModelAnswerError):
        model.ask(PROMPT)
    failed, cut = read_log(world.log)
    assert (failed["status"], failed["answer"], failed["retries"]) == (500, None, 2)
    assert "after 3 attempts" in failed["error"]
    assert (cut["status"], cut["answer"], cut["finish_reason"]) == (200, "half", "length")
    assert "cut off" in cut["error"]


def test_each_way_of_asking_for_a_form_is_a_call(world: World) -> None:
    model = world.model({"structured": "refuse", "rules": [{"reply": '{"name": "a"}'}]})
    model.ask_for(PROMPT, Task)
    calls = list(read_log(world.log))
    assert [(one["structured"], one["status"]) for one in calls] == [
        ("schema", 400),
        ("text", 200),
    ]
    assert "json_schema" in calls[0]["error"]
    assert "Answer with one JSON object" in calls[1]["messages"][-1]["content"]


def test_the_key_is_taken_out_everywhere(world: World, tmp_path: Path) -> None:
    record = tmp_path / "record.jsonl"
    model = world.model([{"reply": f"your key is {KEY}"}], record=record)
    answer = model.ask(PROMPT.followed_by(Message("user", f"my key is {KEY}")))
    assert answer.text == "your key is ***"
    for file in (world.log, record):
        assert KEY not in file.read_text()
        assert "my key is ***" in file.read_text()
    assert world.server.requests[0].messages[-1][1] == f"my key is {KEY}"  # it was sent


def test_no_call_leaves_no_log(world: World, tmp_path: Path) -> None:
    world.serve([])
    with open_model(world.settings(), log=tmp_path / "empty.jsonl"):
        pass
    assert not (tmp_path / "empty.jsonl").exists()


def test_a_log_that_cannot_be_written(world: World, tmp_path: Path) -> None:
    world.serve([])
    (tmp_path / "file").write_text("")
    opened = open_model(world.settings(), log=tmp_path / "file" / "log.jsonl")
    with pytest.raises(ConfigurationError, match=r"cannot be written: "), opened:
        pass


@pytest.mark.parametrize("line", ["no JSON", "[]", '{"schema_version": 99}'])
def test_what_is_no_log(tmp_path: Path, line: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(json.dumps({"schema_version": 2}) + "\n" + line + "\n")
    with pytest.raises(ConfigurationError, match="line 2: this is no call"):
        list(read_log(path))
    with pytest.raises(ConfigurationError, match="cannot be read"):
        list(read_log(tmp_path / "absent"))
