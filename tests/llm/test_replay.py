"""Recorded dialogues are answered from their file, without a network."""

from __future__ import annotations

import json
import socket
import stat
import typing as t
from pathlib import Path

import pytest

from couler.errors import (
    ConfigurationError,
    LanguageModelError,
    ModelAnswerError,
    ModelBudgetError,
)
from couler.llm import LlmSettings, Price, open_model
from tests.llm.conftest import PROMPT, Task, World

RULES: list[dict[str, t.Any]] = [
    {"structured": "refuse"},
    {"when": {"turn": 2}, "reply": '{"name": "mended"}'},
    {"when": {"contains": "JSON schema"}, "reply": '{"parts": 3}'},
    {"when": {"temperature": 0.8}, "reply": "warm"},
    {"times": 1, "reply": "first"},
    {"reply": "second"},
]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> t.NoReturn:
        pytest.fail("a replay connects to nothing")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_a_dialogue_is_answered_from_its_record(
    world: World, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    file = tmp_path / "dialogue.jsonl"
    model = world.model(RULES, record=file, prices={"*": Price(1.0, 2.0)})

    def talk(model: t.Any) -> list[object]:
        return [
            model.ask(PROMPT),
            model.ask(PROMPT, temperature=0.8),
            model.ask(PROMPT),
            model.ask_for(PROMPT, Task),
            model.usage,
        ]

    said = talk(model)
    assert [one.text for one in said[:3]] == ["first", "warm", "second"]  # type: ignore[attr-defined]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    request.getfixturevalue("offline")
    for _ in range(2):
        with open_model(LlmSettings(), replay=file) as replayed:
            assert talk(replayed) == said


def test_a_request_that_is_not_recorded(world: World, tmp_path: Path) -> None:
    file = tmp_path / "dialogue.jsonl"
    world.model([{"reply": "x"}], record=file).ask(PROMPT, seed=1)
    with open_model(LlmSettings(), replay=file) as model:
        with pytest.raises(LanguageModelError) as caught:
            model.ask(PROMPT, seed=2)
        assert 'the request "decompose" v2 (turn 2, temperature None, seed 2)' in str(caught.value)
        assert "begins 'Split this.'" in str(caught.value)
        with pytest.raises(LanguageModelError, match="is not recorded"):
            model.ask_for(PROMPT, Task, seed=1)
        assert model.ask(PROMPT, seed=1).text == "x"
        with pytest.raises(LanguageModelError, match="is recorded 1 time, but was made 2 times"):
            model.ask(PROMPT, seed=1)


def test_errors_of_answers_are_replayed(world: World, tmp_path: Path) -> None:
    file = tmp_path / "dialogue.jsonl"
    rules = [{"refusal": "no", "times": 1}, {"reply": "word " * 10_000}]
    model = world.model(rules, record=file, max_tokens_total=1000)
    told: list[LanguageModelError] = []
    for kind in (ModelAnswerError, ModelBudgetError):
        with pytest.raises(kind) as caught:
            model.ask(PROMPT)
        told.append(caught.value)
    with open_model(LlmSettings(), replay=file) as replayed:
        for error in told:
            with pytest.raises(type(error)) as caught:
                replayed.ask(PROMPT)
            assert str(caught.value) == str(error)
            assert caught.value.answer == error.answer is not None
            if isinstance(error, ModelAnswerError):
                assert vars(caught.value) == vars(error)


def test_a_record_is_not_written_over(world: World, tmp_path: Path) -> None:
    file = tmp_path / "dialogue.jsonl"
    file.write_text("precious")
    world.serve([])
    with pytest.raises(ConfigurationError, match="already exists: remove it"):
        world.open(record=file)
    assert file.read_text() == "precious"


def test_a_record_is_made_or_used(world: World, tmp_path: Path) -> None:
    world.serve([])
    with pytest.raises(ConfigurationError, match="recorded or replayed, not both"):
        world.open(record=tmp_path / "a", replay=tmp_path / "b")


_ANSWER = {"text": "", "model": "", "finish_reason": "", "prompt_tokens": "many", "cost": None}
_ANSWER |= {"completion_tokens": 0, "estimated": False, "seconds": 0}
_DAMAGED = {"schema_version": 1, "key": "x", "answer": _ANSWER, "problem": None, "is_budget": False}


@pytest.mark.parametrize(
    "line",
    ["no JSON", "{}", '{"schema_version": 9, "key": "x"}', "[]", json.dumps(_DAMAGED)],
)
def test_what_is_no_record(tmp_path: Path, line: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(line)
    with (
        pytest.raises(ConfigurationError, match="line 1: this is no recorded answ"),
        open_model(LlmSettings(), replay=file),
    ):
        pass
    with (
        pytest.raises(ConfigurationError, match="cannot be read"),
        open_model(LlmSettings(), replay=tmp_path / "absent"),
    ):
        pass
