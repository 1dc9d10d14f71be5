"""The scripted server speaks the protocol, does what its script says, and tells what that lacks."""

from __future__ import annotations

import json
import typing as t
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest
from openai.types.chat import ChatCompletion
from pydantic import BaseModel

from couler.errors import ConfigurationError
from tests.fakes.llm import Rule, Script, ScriptedServer
from tests.llm.conftest import Task, World

MESSAGES = [
    {"role": "system", "content": "couler prompt: generate v3\nYou write."},
    {"role": "user", "content": "Write it."},
]


def post(server: ScriptedServer, path: str = "/chat/completions", **fields: t.Any) -> t.Any:
    """Send a request without any SDK; returns status, headers and body."""
    body = {"model": "scripted", "messages": MESSAGES, **fields}
    request = urllib.request.Request(
        server.base_url + path, json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    try:
        with urllib.request.urlopen(request) as response:
            return response.status, response.headers, response.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def said(server: ScriptedServer, **fields: t.Any) -> str:
    _, _, content = post(server, **fields)
    text: str = json.loads(content)["choices"][0]["message"]["content"]
    return text


def surplus(model: BaseModel) -> dict[str, object]:
    """Return the fields that a response has and the SDK's types have not."""
    found = dict(model.model_extra or {})
    for name in type(model).model_fields:
        for one in _models(getattr(model, name)):
            found |= surplus(one)
    return found


def _models(value: object) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _models(one)


@pytest.mark.parametrize(
    "rule",
    [
        {"reply": "x"},
        {"refusal": "no"},
        {"reply": "x", "finish_reason": "content_filter"},
        {"reply": "x", "usage": "none"},
        {"reply": "x", "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        {"rubbish": "choices"},
    ],
)
def test_completions_are_of_the_types_of_the_sdk(world: World, rule: dict[str, t.Any]) -> None:
    """Checked strictly: the client itself checks nothing of an answer."""
    status, headers, content = post(world.serve([rule]))
    assert (status, headers["Content-Type"]) == (200, "application/json")
    completion = ChatCompletion.model_validate_json(content, strict=True)
    assert surplus(completion) == {}


def test_errors_are_those_of_the_sdk(world: World) -> None:
    server = world.serve([{"status": 429, "retry_after": 2.5, "code": "busy", "message": "wait"}])
    client = openai.OpenAI(base_url=server.base_url, api_key="x", max_retries=0)
    with pytest.raises(openai.RateLimitError, match="wait") as caught:
        client.chat.completions.create(model="m", messages=MESSAGES)  # type: ignore[call-overload]
    assert (caught.value.code, caught.value.type) == ("busy", "invalid_request_error")
    assert caught.value.response.headers["retry-after"] == "2.5"
    client.close()


def test_the_sdk_parses_forms(world: World) -> None:
    server = world.serve([{"when": {"schema": "Task"}, "reply": {"json": {"name": "a"}}}])
    client = openai.OpenAI(base_url=server.base_url, api_key="x")
    parsed = client.chat.completions.parse(
        model="m",
        messages=MESSAGES,
        response_format=Task,  # type: ignore[arg-type]
    )
    assert parsed.choices[0].message.parsed == Task(name="a")
    client.close()


def test_the_first_rule_that_fits_answers(world: World) -> None:
    server = world.serve(
        [
            {"when": {"prompt": "decompose"}, "reply": "a"},
            {"when": {"version": 2}, "reply": "b"},
            {"when": {"contains": ["Write", "absent"]}, "reply": "c"},
            {"when": {"turn": 2}, "reply": "d"},
            {"when": {"last": "You write"}, "reply": "e"},
            {"when": {"temperature": 0.2}, "reply": "warm"},
            {"when": {"seed": 1}, "reply": "seeded"},
            {"when": {"schema": "Task"}, "reply": "form"},
            {"when": {"prompt": "generate", "version": "3", "contains": "You write"}, "reply": "g"},
        ]
    )
    again = [*MESSAGES, {"role": "assistant", "content": "x"}, {"role": "user", "content": "no"}]
    assert said(server) == "g"
    assert said(server, messages=again) == "d"
    assert said(server, temperature=0.2) == "warm"
    assert said(server, seed=1) == "seeded"
    form = {"type": "json_schema", "json_schema": {"name": "Task", "schema": {}}}
    assert said(server, response_format=form) == "form"
    assert [one.rule for one in server.exchanges] == [9, 4, 6, 7, 8]


def test_a_rule_is_used_so_many_times(world: World) -> None:
    server = world.serve([{"times": 2, "reply": "a"}, {"times": 1, "reply": "b"}, {"reply": "c"}])
    assert [said(server) for _ in range(5)] == ["a", "a", "b", "c", "c"]


def test_replies_of_each_kind(world: World, tmp_path: Path) -> None:
    (tmp_path / "flow.py").write_text("x = 1\n\n")
    server = world.serve(
        [
            {"when": {"seed": 1}, "reply": {"file": "flow.py", "fence": "python"}},
            {"when": {"seed": 2}, "reply": {"file": "flow.py"}},
            {"when": {"seed": 3}, "reply": {"json": {"a": ["ä"]}}},
            {"when": {"seed": 4}, "reply": {"json": None}},
        ]
    )
    assert said(server, seed=1) == "```python\nx = 1\n```"
    assert said(server, seed=2) == "x = 1\n\n"
    assert said(server, seed=3) == '{"a": ["ä"]}'
    assert said(server, seed=4) == "null"


def test_a_script_is_a_file_beside_its_files(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts/answer.txt").write_text("from a file")
    script = tmp_path / "scripts/script.yaml"
    script.write_text("rules:\n- reply: {file: answer.txt}\n")
    with ScriptedServer(script) as server:
        assert said(server) == "from a file"


def test_tokens_are_counted_by_the_stated_rule(world: World) -> None:
    server = world.serve([{"reply": "éé1"}])  # five bytes
    _, _, content = post(server)
    # 37 and 9 bytes: 10 and 3 tokens, and 4 for each message
    assert json.loads(content)["usage"] == {
        "prompt_tokens": 21,
        "completion_tokens": 2,
        "total_tokens": 23,
    }


@pytest.mark.parametrize("field", ["max_tokens", "max_completion_tokens"])
def test_an_answer_is_cut_at_the_limit(world: World, field: str) -> None:
    server = world.serve([{"reply": "0123456789"}])
    _, _, content = post(server, **{field: 2})
    [choice] = json.loads(content)["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("01234567", "length")
    assert said(server, **{field: 3}) == "0123456789"


def test_a_request_without_a_rule_tells_what_to_add(world: World) -> None:
    server = world.serve([{"when": {"prompt": "generate"}, "times": 1, "reply": "x"}])
    post(server)
    status, _, content = post(server)
    error = json.loads(content)["error"]
    assert (status, error["code"]) == (400, "no_rule")
    assert error["message"] == (
        'the script has no rule for this request: "generate" v3, turn 1, whose last message begins '
        "'Write it.'. rule 1 is used up (times: 1). Add one, such as - {when: {prompt: generate, "
        'turn: 1}, reply: {text: "..."}}'
    )
    assert server.exchanges[-1].rule is None


def test_the_advice_is_a_rule(world: World) -> None:
    import yaml

    server = world.serve([])
    _, _, content = post(server)
    _, _, advice = json.loads(content)["error"]["message"].partition("such as - ")
    with ScriptedServer([yaml.safe_load(advice)]) as mended:
        assert said(mended) == "..."


def test_forms_are_refused_by_a_rule(world: World) -> None:
    server = world.serve([{"structured": "refuse", "times": 1}, {"reply": "x"}])
    form = {"response_format": {"type": "json_object"}}
    assert said(server) == "x"  # it asks for no form, so the rule is not for it
    assert [post(server, **form)[0] for _ in range(2)] == [400, 200]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"messages": []}, "messages must be a list"),
        ({"model": None}, "you must provide a model"),
        ({"messages": [{"content": "x"}]}, "a message has a role"),
        ({"stream": True}, "no streams"),
        ({"n": 3}, "one choice"),
    ],
)
def test_what_is_no_request(world: World, fields: dict[str, t.Any], reason: str) -> None:
    status, _, content = post(world.serve([{"reply": "x"}]), **fields)
    assert (status, reason in json.loads(content)["error"]["message"]) == (400, True)


def test_other_addresses_are_not_there(world: World) -> None:
    status, _, content = post(world.serve([{"reply": "x"}]), "/responses")
    assert (status, "there is no /v1/responses" in content.decode()) == (404, True)


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ({"rules": [{"reply": "x", "status": 429}]}, "rule 1: a rule has one of reply, status"),
        ({"rules": [{"when": {"turn": 1}}]}, "and cut, not none"),
        ({"rules": [{"reply": "x"}, {"when": {"promt": "x"}, "reply": "y"}]}, "rule 2, when, prom"),
        ({"rules": [{"reply": {"text": "x", "json": 1}}]}, "rule 1, reply: a reply has one of"),
        ({"rules": [{"reply": {"file": "absent.py"}}]}, "rule 1: the file absent.py cannot be re"),
        ({"rules": [{"status": 200}]}, "rule 1, status: Input should be greater than or equal to"),
        ({"rules": 3}, "rules: Input should be a valid tuple"),
        (3, "a script is a mapping with a list of rules"),
    ],
)
def test_what_is_no_script(tmp_path: Path, script: t.Any, what: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedServer(script)
    assert what in str(caught.value)
    file = tmp_path / "script.yaml"
    file.write_text(json.dumps(script))
    with pytest.raises(ConfigurationError) as caught:
        ScriptedServer(file)
    assert str(file) in str(caught.value)


def test_a_script_file_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("rules: [")
    for name, what in (("a.yaml", "is no YAML"), ("absent.yaml", "cannot be read")):
        with pytest.raises(ConfigurationError, match=what):
            ScriptedServer(tmp_path / name)


def test_scripts_are_objects_as_well() -> None:
    script = Script(rules=(Rule.model_validate({"reply": "x"}),))
    with ScriptedServer(script) as server:
        assert said(server) == "x"
