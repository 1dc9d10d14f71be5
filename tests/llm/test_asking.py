"""Questions and answers over the wire, with and without a form."""

from __future__ import annotations

import threading
import typing as t

import pytest

from couler.errors import ConfigurationError, LanguageModelError, ModelAnswerError
from couler.llm import Message, Usage
from tests.llm.conftest import KEY, PROMPT, Task, World

GOOD = '{"name": "a", "parts": ["b"]}'


def test_a_question_is_answered(world: World) -> None:
    model = world.model([{"when": {"prompt": "decompose"}, "reply": "Two parts."}])
    answer = model.ask(PROMPT, temperature=0.2, seed=7)
    assert (answer.text, answer.finish_reason, answer.model) == ("Two parts.", "stop", "scripted")
    [asked] = world.server.requests
    assert asked.body == {
        "model": "scripted",
        "messages": [one._asdict() for one in PROMPT.messages],
        "temperature": 0.2,
        "seed": 7,
    }
    assert asked.authorization == f"Bearer {KEY}"
    # 43 bytes and 11 bytes: 11 and 3 tokens, and 4 for each message
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (22, 3)
    assert model.usage == answer.usage
    assert answer.usage.cost is None


def test_usage_adds_up(world: World) -> None:
    model = world.model([{"reply": "x", "usage": {"prompt_tokens": 10, "completion_tokens": 2}}])
    other = PROMPT.__class__("generate", "1", (Message("user", "Write."),))
    for prompt in (PROMPT, other, PROMPT):
        model.ask(prompt)
    assert (model.usage.calls, model.usage.prompt_tokens, model.usage.tokens) == (3, 30, 36)
    assert Usage() + Usage(cost=None) == Usage(cost=None)


def test_a_schema_asks_for_the_form(world: World) -> None:
    model = world.model([{"when": {"schema": "Task"}, "reply": {"json": {"name": "a"}}}])
    parsed = model.ask_for(PROMPT, Task)
    assert parsed.value == Task(name="a")
    [asked] = world.server.requests
    described = asked.body["response_format"]["json_schema"]
    assert (described["name"], described["strict"]) == ("Task", True)
    assert described["schema"]["required"] == ["name", "parts"]
    assert described["schema"]["additionalProperties"] is False
    assert asked.body["messages"] == [one._asdict() for one in PROMPT.messages]
    assert world.told == []


def test_a_refused_schema_becomes_part_of_the_prompt_for_the_rest_of_the_run(world: World) -> None:
    model = world.model({"structured": "refuse", "rules": [{"reply": f"```json\n{GOOD}\n```"}]})
    for _ in range(2):
        assert model.ask_for(PROMPT, Task).value == Task(name="a", parts=["b"])
    assert [one.form for one in world.server.requests] == ["json_schema", None, None]
    assert model.structured == "text"
    [told] = world.told
    assert "'response_format' of type 'json_schema' is not supported" in told
    assert 'structured = "text"' in told
    last = world.server.requests[-1].messages[-1][1]
    assert last.startswith("Split this.\n\nAnswer with one JSON object in a fenced block")
    assert '"parts"' in last


@pytest.mark.parametrize(("structured", "form"), [("schema", "json_schema"), ("text", None)])
def test_the_setting_decides_how_forms_are_requested(
    world: World, structured: str, form: str | None
) -> None:
    model = world.model([{"reply": "no JSON"}, {"reply": GOOD}], structured=structured)
    with pytest.raises(ModelAnswerError):
        model.ask_for(PROMPT, Task)
    assert [one.form for one in world.server.requests] == [form, form]
    assert world.told == []


def test_a_schema_that_is_refused_against_the_settings_is_an_error(world: World) -> None:
    model = world.model({"structured": "refuse", "rules": [{"reply": GOOD}]}, structured="schema")
    with pytest.raises(LanguageModelError, match="of type 'json_schema' is not supported"):
        model.ask_for(PROMPT, Task)


def test_a_request_that_is_refused_with_and_without_a_schema(world: World) -> None:
    model = world.model([{"status": 400, "message": "no such temperature"}])
    with pytest.raises(LanguageModelError, match="it answered 400: no such temperature"):
        model.ask_for(PROMPT, Task)
    assert [one.form for one in world.server.requests] == ["json_schema", None]
    assert (model.structured, world.told) == ("schema", [])


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"Here it is:\n```json\n{GOOD}\n```\nAnything else?",
        f"```\nno JSON\n```\n```\n{GOOD}\n```",
        f"Sure: {GOOD} That is all.",
        f"It goes by {{x}}:\n```json\n{GOOD}\n```\nand not by {{y}}.",
        f"<think>\n{{not this}}\n</think>\n{GOOD}",
    ],
)
def test_the_form_is_found_in_an_answer(world: World, text: str) -> None:
    model = world.model([{"reply": text}], structured="text")
    assert model.ask_for(PROMPT, Task).value == Task(name="a", parts=["b"])


def test_an_answer_of_another_form_is_repaired_once(world: World) -> None:
    model = world.model(
        [
            {"when": {"turn": 1}, "reply": {"json": {"name": 3, "parts": "b"}}},
            {"when": {"turn": 2, "last": "parts"}, "reply": GOOD},
        ]
    )
    parsed = model.ask_for(PROMPT, Task)
    assert parsed.value == Task(name="a", parts=["b"])
    assert parsed.answer.usage == model.usage
    assert parsed.answer.usage.calls == 2
    repair = world.server.requests[1]
    assert [role for role, _ in repair.messages] == ["system", "user", "assistant", "user"]
    assert "name: Input should be a valid string" in repair.messages[-1][1]
    assert '"parts"' in repair.messages[-1][1]  # the form in words, this time
    assert model.structured == "schema"  # the endpoint may hold answers to schemas: it was JSON


def test_an_endpoint_that_ignores_schemas_gets_them_in_prompts(world: World) -> None:
    model = world.model([{"when": {"turn": 1}, "reply": "I would say a."}, {"reply": GOOD}])
    model.ask_for(PROMPT, Task)
    assert model.structured == "text"
    assert [one.form for one in world.server.requests] == ["json_schema", None]
    assert "the answer to a schema is no JSON" in world.told[0]


def test_rubbish_twice_is_an_error_that_tells_the_fault(world: World) -> None:
    model = world.model([{"reply": {"json": {"parts": []}}}])
    with pytest.raises(ModelAnswerError) as caught:
        model.ask_for(PROMPT, Task)
    assert 'call "decompose"' in str(caught.value)
    assert "has not the form Task" in str(caught.value)
    assert "name: Field required" in str(caught.value)
    assert caught.value.text == '{"parts": []}'
    assert len(world.server.requests) == 2


@pytest.mark.parametrize(
    ("rule", "said", "text"),
    [
        ({"reply": "half", "finish_reason": "length"}, "cut off after 1 tokens", "half"),
        (
            {"reply": "ha", "finish_reason": "content_filter"},
            "a content filter of the endpoint",
            "ha",
        ),
        ({"refusal": "I will not."}, "the model refuses: I will not.", ""),
        ({"rubbish": "choices"}, "the answer is empty (finish_reason missing)", ""),
        ({"reply": " \n"}, "the answer is empty (finish_reason stop)", " \n"),
        ({"reply": "x", "finish_reason": "tool_calls"}, "(finish_reason tool_calls)", "x"),
    ],
)
def test_an_answer_that_is_none_is_one_error(
    world: World, rule: dict[str, t.Any], said: str, text: str
) -> None:
    model = world.model([rule])
    with pytest.raises(ModelAnswerError) as caught:
        model.ask(PROMPT)
    assert said in str(caught.value)
    assert caught.value.text == text
    assert model.usage.calls == 1  # it is paid for all the same


def test_an_answer_over_the_limit_tells_the_setting(world: World) -> None:
    model = world.model([{"reply": "word " * 100}], answer_tokens=20)
    with pytest.raises(ModelAnswerError, match=r"after 20 tokens: raise answer-tokens"):
        model.ask(PROMPT)


def test_the_newer_name_of_the_limit_is_found_out(world: World) -> None:
    refusal = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    model = world.model(
        [{"status": 400, "message": refusal, "times": 1}, {"reply": "x"}], answer_tokens=20
    )
    model.ask(PROMPT)
    model.ask(PROMPT)
    limits = [set(one.body) & {"max_tokens", "max_completion_tokens"} for one in _asked(world)]
    assert limits == [{"max_tokens"}, {"max_completion_tokens"}, {"max_completion_tokens"}]


def _asked(world: World) -> tuple[t.Any, ...]:
    return world.server.requests


@pytest.mark.parametrize(
    "usage",
    [
        "none",
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 5, "completion_tokens": 10**30},
    ],
)
def test_tokens_that_nobody_counts_are_estimated_and_that_is_said(
    world: World, usage: object
) -> None:
    model = world.model([{"reply": "12345", "usage": usage}])
    answer = model.ask(PROMPT)
    model.ask(PROMPT)
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (14, 2)
    assert answer.usage.estimated_calls == 1
    [told] = world.told
    assert "does not count tokens; they are estimated" in told


def test_threads_share_a_model(world: World) -> None:
    model = world.model([{"reply": "x"}])
    threads = [threading.Thread(target=model.ask, args=(PROMPT,)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert model.usage.calls == 8
    assert len(world.log.read_text().splitlines()) == 8


def test_text_that_is_no_unicode_is_sent_all_the_same(world: World) -> None:
    model = world.model([{"reply": "x"}])
    model.ask(PROMPT.followed_by(Message("user", "a\udcffb")))
    assert world.server.requests[0].messages[-1][1] == "a?b"


@pytest.mark.parametrize("temperature", [float("nan"), -0.1, 2.1])
def test_a_temperature_that_is_none_is_told_before_anything_is_sent(
    world: World, temperature: float
) -> None:
    server = world.serve([{"reply": "Yes."}])
    with pytest.raises(ConfigurationError, match="temperature must be a number from 0 to 2, not"):
        world.open().ask(PROMPT, temperature=temperature)
    assert server.requests == ()
