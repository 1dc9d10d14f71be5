"""`couler llm`: a scripted endpoint, its check, and the log of calls."""

from __future__ import annotations

import json
import re
import signal
import stat
import subprocess
import sys
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import CLEAN_ENVIRONMENT, KEY, Outcome, Serve
from tests.fakes.llm import ScriptedServer
from tests.support.ports import free_port

Couler = Callable[..., Outcome]

SCRIPT = """
rules:
- when: {schema: Checked}
  reply: {json: {answer: ok}}
- reply: fine
"""


FORM = {"when": {"contains": "answer"}, "reply": {"json": {"answer": "ok"}}}


def test_check_tells_settings_answer_form_and_price(
    couler: Couler, serve: Serve, folder: Path
) -> None:
    server = serve([{"when": {"schema": "Checked"}, "reply": {"json": {"answer": "ok"}}}, FORM])
    (folder / "pyproject.toml").write_text(
        '[tool.couler.llm]\nmax-tokens-total = 5000\n[tool.couler.llm.prices."scr*"]\n'
        "prompt = 0.5\ncompletion = 2\n"
    )
    done = couler("llm", "check", "--max-cost", "1")
    assert done.code == 0, done.err
    assert re.search(rf"^base-url +{server.base_url} +COULER_LLM_BASE_URL$", done.out, re.M)
    assert re.search(r"^api-key +set +COULER_LLM_API_KEY$", done.out, re.M)
    assert re.search(r"^max-tokens-total +5000 +\[tool.couler\] of .*pyproject", done.out, re.M)
    assert re.search(r"^max-cost +1.0 +--max-cost$", done.out, re.M)
    assert "structured answers: the endpoint is sent the JSON schema" in done.out
    assert "price: 0.5 and 2 USD for a million tokens of prompts and of answers" in done.out
    assert KEY not in done.out + done.err


def test_check_as_json(couler: Couler, serve: Serve) -> None:
    serve({"rules": [FORM], "structured": "refuse"})
    done = couler("llm", "check", "--format", "json")
    report = done.json
    assert report["schema_version"] >= 1
    assert report["structured"] == "text"
    assert report["settings"]["model"] == {"value": "scripted", "origin": "COULER_LLM_MODEL"}
    assert report["settings"]["api-key"]["value"] == "set"
    assert (report["usage"]["calls"], report["usage"]["cost"]) == (2, None)
    assert 'structured = "text"' in done.err


def test_calls_are_logged_and_shown(couler: Couler, serve: Serve, folder: Path) -> None:
    serve(
        [
            {"status": 429, "retry_after": 0.001, "times": 1},
            {"when": {"schema": "Checked"}, "reply": {"json": {"answer": "\x1b[31mred"}}},
            {"reply": "fine"},
        ]
    )
    assert couler("llm", "check", "--home", "state").code == 2  # it has no such option
    assert couler("llm", "check").code == 0
    [log] = (folder / "data/couler/llm").iterdir()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    shown = couler("llm", "log")
    assert shown.err == f"{log}: 2 calls\n"
    assert "1. check v1, turn 1, model scripted" in shown.out
    assert "  retries: 1\n" in shown.out
    assert "  answer (stop):\n    fine\n" in shown.out
    assert "form Checked by schema" in shown.out
    assert "\x1b" not in shown.out
    assert KEY not in log.read_text() + shown.out
    brief = couler("llm", "log", "-b", str(log)).out.splitlines()
    assert len(brief) == 3
    assert brief[0].split() == [
        *("time", "prompt", "turn", "status", "took", "tokens", "retries", "outcome")
    ]
    assert [line.split()[2:6] for line in brief[1:]] == [["check", "v1", "1", "200"]] * 2
    report = couler("llm", "log", "--format", "json", "--prompt", "check").json
    assert [one["prompt"]["name"] for one in report["calls"]] == ["check", "check"]
    assert couler("llm", "log", "--format", "json", "--prompt", "other").json["calls"] == []


def test_a_log_with_any_characters_is_shown(couler_process: Couler, folder: Path) -> None:
    call = {
        "schema_version": 2,
        "time": "2026-01-01T00:00:00",
        "prompt": {"name": "a", "version": "1"},
        "model": "m",
        "structured": None,
        "temperature": None,
        "seed": None,
        "retries": 0,
        "messages": [],
        "answer": "a\ud800b\x9bc\u2028d\u00e4",
        "error": "\ud800",
        "status": 200,
        "seconds": 1.0,
    }
    (folder / "calls.jsonl").write_text(json.dumps(call) + "\n")
    for flags in ([], ["-b"], ["--format", "json"]):
        shown = couler_process("llm", "log", "calls.jsonl", *flags)
        assert shown.code == 0
        assert not set("\ud800\x9b\u2028") & set(shown.out)
    assert "\u00e4" in shown.out
    assert json.loads(shown.out)["calls"] == [call]


def test_the_latest_log_is_shown(couler: Couler, serve: Serve, folder: Path) -> None:
    none = couler("llm", "log")
    assert (none.code, "there is no log of language models in" in none.err) == (3, True)
    serve([FORM])
    older = folder / "data/couler/llm/20200101-000000-000-x-1.jsonl"
    older.parent.mkdir(parents=True)
    older.write_text("not looked at\n")
    couler("llm", "check")
    assert couler("llm", "log").code == 0
    assert couler("llm", "log", str(older)).code == 3


@pytest.mark.parametrize(
    ("environment", "code", "what"),
    [
        ({}, 3, "no model is chosen. Set COULER_LLM_MODEL"),
        ({"COULER_LLM_MODEL": "m"}, 3, "there is no key. Set COULER_LLM_API_KEY"),
        (
            {
                "COULER_LLM_MODEL": "m",
                "COULER_LLM_API_KEY": KEY,
                "COULER_LLM_MAX_RETRIES": "0",
                "COULER_LLM_BASE_URL": f"http://127.0.0.1:{free_port()}/v1",
            },
            4,
            "the connection failed: ",
        ),
        ({"COULER_LLM_SEED": "x"}, 3, "COULER_LLM_SEED: seed must be a whole number, not 'x'"),
    ],
    ids=["model", "key", "down", "wrong"],
)
def test_what_is_missing_is_one_message(
    couler: Couler,
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    code: int,
    what: str,
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = couler("llm", "check", "-q")
    assert (done.code, what in done.err) == (code, True), done.err
    assert "Traceback" not in done.err
    assert len(done.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("rule", "code", "what"),
    [
        ({"status": 401, "message": f"bad key {KEY}"}, 4, "401: bad key ***. Is COULER_LLM_"),
        ({"rubbish": "html"}, 4, "its answer is no chat completion: <!doctype html"),
        ({"reply": "never JSON"}, 4, "has not the form Checked"),
    ],
)
def test_endpoints_that_fail_are_one_message(
    couler: Couler,
    serve: Serve,
    rule: dict[str, t.Any],
    code: int,
    what: str,
) -> None:
    serve([rule])
    for options in ((), ("--debug",)):
        done = couler("llm", "check", "-q", *options)
        assert (done.code, what in done.err) == (code, True), done.err
        assert KEY not in done.out + done.err
    assert len(couler("llm", "check", "-q").err.splitlines()) == 1


def test_a_budget_is_reached(couler: Couler, serve: Serve) -> None:
    server = serve([FORM])
    done = couler("llm", "check", "-q", "--max-tokens-total", "300")
    assert done.code == 4
    assert re.fullmatch(
        r"error: language model: the budget does not suffice .* Used so far: \d+ of 300 tokens, "
        r"check: \d+ tokens in 1 call\. Raise .*\n",
        done.err,
    )
    assert len(server.requests) == 1


def test_a_cost_without_a_price(couler: Couler, serve: Serve) -> None:
    server = serve([FORM])
    done = couler("llm", "check", "-q", "--max-cost", "1")
    assert (done.code, '[tool.couler.llm.prices."scripted"]' in done.err) == (3, True)
    assert server.requests == ()


def test_a_dialogue_is_recorded_and_replayed(
    couler: Couler,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    serve([{"when": {"schema": "Checked"}, "reply": {"json": {"answer": "ok"}}}, {"reply": "yes"}])
    assert couler("llm", "check", "--record", "dialogue.jsonl").code == 0
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"COULER_LLM_{name}")
    done = couler("llm", "check", "--replay", "dialogue.jsonl")
    assert (done.code, "it answers: 'yes', as scripted" in done.out) == (0, True), done.err
    both = couler("llm", "check", "--replay", "dialogue.jsonl", "--record", "other.jsonl")
    assert (both.code, "not both" in both.err) == (3, True)


def test_without_the_extra(couler: Couler, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve([FORM])
    monkeypatch.setitem(sys.modules, "openai", None)
    monkeypatch.delitem(sys.modules, "couler.llm.endpoint", raising=False)
    done = couler("llm", "check", "-q")
    assert done.code == 3
    assert done.err.endswith("pip install 'couler[llm]'\n")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f'[tool.couler.llm]\napi-key = "{KEY}"\n', "a key of a language model is never written"),
        (f'[tool.couler.llm]\napi_key = "{KEY}"\n', "a key of a language model is never written"),
        (f'[tool.couler.llm]\napi-key-env = "{KEY}"\n', "must be the name of an environment vari"),
        ("[tool.couler]\nllm = 3\n", "llm"),
        ("[tool.couler.llm]\nmodell = 'x'\n", 'model"?'),
        ("[tool.couler.llm]\nseed = 1.5\n", "must be a number, not 1.5"),
        ("[tool.couler.llm]\nprices = 3\n", "llm.prices"),
        ("[tool.couler.llm.prices.m]\nprompt = 1\n", "completion"),
        ("[tool.couler.llm.prices.m]\nprompt = -1\ncompletion = 1\n", "-1"),
    ],
)
def test_settings_of_files_that_are_wrong(
    couler: Couler, folder: Path, text: str, what: str
) -> None:
    (folder / "pyproject.toml").write_text(text)
    done = couler("llm", "check", "-v")
    assert (done.code, what in done.err) == (3, True), done.err
    assert KEY not in done.out + done.err
    assert "pyproject.toml" in done.err


def test_settings_of_a_file(
    couler: Couler,
    serve: Serve,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve([FORM])
    for name in ("BASE_URL", "MODEL", "API_KEY"):
        monkeypatch.delenv(f"COULER_LLM_{name}")
    monkeypatch.setenv("MY_KEY", KEY)
    (folder / "pyproject.toml").write_text(
        f'[tool.couler.llm]\nbase-url = "{server.base_url}"\nmodel = "mine"\n'
        'api-key-env = "MY_KEY"\ntemperature = 0.5\ntimeout = 10\nseed = 4\n'
    )
    done = couler("llm", "check")
    assert done.code == 0, done.err
    body = server.requests[0].body
    assert (body["model"], body["temperature"], body["seed"]) == ("mine", 0.5, 4)
    assert server.requests[0].authorization == f"Bearer {KEY}"


Fake: t.TypeAlias = "Callable[..., subprocess.CompletedProcess[str]]"

FAKE = [sys.executable, "-m", "tests.fakes.llm", "script.yaml"]


@pytest.fixture
def fake(folder: Path) -> Fake:
    """Call the scripted endpoint as a process of its own."""
    (folder / "script.yaml").write_text(SCRIPT)

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**CLEAN_ENVIRONMENT, "COULER_HOME": str(folder / "home")}
        return subprocess.run(
            [*FAKE, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
        )

    return call


@pytest.mark.slow
@pytest.mark.checkout
def test_a_command_runs_beside_the_scripted_endpoint(fake: Fake) -> None:
    done = fake("--", "couler", "llm", "check")
    assert (done.returncode, "it answers: 'fine'" in done.stdout) == (0, True), done.stderr
    assert fake("--", sys.executable, "-c", "exit(7)").returncode == 7
    absent = fake("--", "no-such-program")
    assert (absent.returncode, "no-such-program" in absent.stderr) == (3, True)


@pytest.mark.slow
@pytest.mark.checkout
def test_it_answers_until_it_is_interrupted(folder: Path) -> None:
    (folder / "script.yaml").write_text(SCRIPT)
    with subprocess.Popen(
        FAKE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        variables = dict(line.removeprefix("export ").strip().split("=", 1) for line in lines)
        assert set(variables) == {
            "COULER_LLM_BASE_URL",
            "COULER_LLM_MODEL",
            "COULER_LLM_API_KEY",
        }
        checked = subprocess.run(
            [sys.executable, "-m", "couler.cli", "llm", "check"],
            env={**CLEAN_ENVIRONMENT, **variables, "COULER_HOME": str(folder / "home")},
            capture_output=True,
            text=True,
            check=False,
        )
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert checked.returncode == 0, checked.stderr
    assert (process.returncode, out) == (0, "")
    assert err.splitlines() == [
        "Answering until Ctrl-C",
        '"check" v1, turn 1: 200 by rule 2',
        '"check" v1, turn 1, json_schema: 200 by rule 1',
        "2 requests answered",
    ]


def test_a_call_is_interrupted(folder: Path) -> None:
    """Ctrl-C ends a call that waits for its answer, and the log has it."""
    with ScriptedServer([{"reply": "late", "slow": 60}]) as server:
        process = subprocess.Popen(
            [sys.executable, "-m", "couler.cli", "llm", "check", "-q"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**CLEAN_ENVIRONMENT, **server.environment, "COULER_HOME": str(folder / "home")},
        )
        while not server.requests and process.poll() is None:
            server.wait(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, err.strip()) == (130, "error: interrupted")
    [log] = (folder / "home/llm").iterdir()
    [line] = log.read_text().splitlines()
    assert json.loads(line)["error"] == "interrupted"


@pytest.mark.checkout
def test_an_interrupt_ends_the_command_and_the_endpoint(fake: Fake) -> None:
    program = "import os, signal, time; os.killpg(0, signal.SIGINT); time.sleep(60)"
    done = fake("--", sys.executable, "-c", program)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (130, "error: interrupted")


@pytest.mark.checkout
def test_a_port_that_cannot_be_had(fake: Fake) -> None:
    with ScriptedServer([]) as server:
        done = fake("--port", str(server.port))
    assert (done.returncode, "Address already in use" in done.stderr) == (3, True)
    done = fake("--port", "99999")
    assert (done.returncode, "0<=x<=65535" in done.stderr) == (2, True)


@pytest.mark.checkout
def test_a_script_that_is_none(fake: Fake, folder: Path) -> None:
    (folder / "script.yaml").write_text("rules:\n- {replies: x}\n")
    done = fake()
    assert done.returncode == 3
    assert "rule 1, replies: Extra inputs are not permitted" in done.stderr
