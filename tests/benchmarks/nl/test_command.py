"""The benchmark of workflows from English, from a scripted server to the tables."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import typing as t
from pathlib import Path

import pytest

from benchmarks.nl.__main__ import main
from benchmarks.nl.evaluating import Plan
from benchmarks.nl.items import read_benchmark
from couler.box import Isolation, isolation
from tests.fakes.llm import ScriptedServer
from tests.nl_benchmark.scripted import script

FOLDER = Path(__file__).parents[2] / "nl_benchmark"
BENCHMARK = read_benchmark(FOLDER)

needs_box = pytest.mark.skipif(isolation().problem is not None, reason="no box on this system")


def plan(*items, **fields):
    some = BENCHMARK.select(items)
    given = {"samples": 3, "temperatures": (0.2, 0.6), "modes": ("plain",), "descriptions": 1}
    return Plan(some, **{**given, **fields})


def schedule(key):
    """At 0.2 the first of three answers is right, at 0.6 two are."""
    right = 1 if key.temperature == 0.2 else 2
    return "right" if key.sample < right else ("syntax", "unknown-api", "wrong-graph")[key.sample]


class Told(t.NamedTuple):
    """What the benchmark printed, and its exit code."""

    code: object
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("COULER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-settings"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def evaluate(folder, capsys):
    def call(*arguments):
        code = 0
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
        return Told(code, *capsys.readouterr())

    return call


@pytest.fixture
def ask(evaluate, monkeypatch):
    """Evaluate on an endpoint."""
    monkeypatch.setenv("COULER_LLM_API_KEY", "sk-0123456789")

    def call(server, *arguments, items=("diamond",)):
        chosen = [word for item in items for word in ("--items", item)]
        return evaluate(
            *("--benchmark", str(FOLDER), *chosen, "--descriptions", "1"),
            *("--samples", "3", "--temperatures", "0.2,0.6", "--k", "1,3"),
            *("--modes", "plain", "--base-url", server.base_url, "--model", "scripted"),
            *arguments,
        )

    return call


@needs_box
def test_end_to_end(ask, folder):
    chosen = plan("diamond")
    with ScriptedServer(script(chosen, schedule)) as server:
        told = ask(server, "--json", "samples.jsonl")
    assert told.code == 0, told.err
    assert told.err.count("\n") >= 6
    assert "wrong-graph: " in told.err.replace("  wrong-graph", "wrong-graph")
    lines = told.out.splitlines()
    assert lines[0] == "model: scripted"
    assert lines[1].startswith("SCRIPTED")
    titles = [line for line in lines if line.startswith(("pass@k", "answers", "cost"))]
    assert len(titles) == 4
    assert all("(scripted)" in line for line in titles)
    assert "plain  66.67 [66.67, 66.67] at 0.6  100.00 [100.00, 100.00] at 0.2" in lines
    kept = (folder / "samples.jsonl").read_text().splitlines()
    assert len(kept) == 7
    samples = [json.loads(line)["sample"] for line in kept[1:]]
    assert {one["outcome"] for one in samples} == {"right", "unknown-api", "wrong-graph"}
    assert all(one["model"] == "scripted" for one in samples)
    assert "sk-0123456789" not in "".join(kept) + told.out + told.err


@needs_box
def test_all_modes(evaluate, monkeypatch):
    """The same answers, the same shares; repairs that give the same again change nothing."""
    monkeypatch.setenv("COULER_LLM_API_KEY", "sk-0123456789")
    names = ("one-shot", "code", "modules")
    chosen = plan("diamond", samples=2, temperatures=(0.2,), modes=names)

    def first(key):
        return "right" if key.sample == 0 else "unknown-api"

    with ScriptedServer(script(chosen, first)) as server:
        told = evaluate(
            *("--benchmark", str(FOLDER), "--items", "diamond", "--no-run"),
            *("--descriptions", "1", "--samples", "2", "--temperatures", "0.2", "--k", "1"),
            *("--modes", ",".join(names), "--format", "json"),
            *("--base-url", server.base_url, "--model", "scripted"),
        )
        asked = [one.prompt for one in server.requests]
    assert told.code == 0, told.err
    best = {one["mode"]: one["pass"] for one in told.json["best"]}
    assert best == dict.fromkeys(names, 0.5)
    assert [asked.count(one) for one in ("write", "decompose", "extend")] == [4, 2, 2]
    assert asked.count("critique") == 1
    assert asked.count("repair") == 2  # the same answer again is not asked for once more


@needs_box
def test_is_gone_on_with_within_the_budget(ask, folder):
    chosen = plan("diamond")
    with ScriptedServer(script(chosen, schedule)) as server:
        budget = ("--max-tokens-total", "1100")
        first = ask(server, "--json", "samples.jsonl", *budget, "--no-run")
        assert first.code == 4
        assert "--resume samples.jsonl" in first.err
        assert "missing: " in first.out
        kept = (folder / "samples.jsonl").read_text().splitlines()
        assert 1 < len(kept) < 7
        again = ask(server, "--resume", "samples.jsonl", "--max-tokens-total", "10", "--no-run")
        assert again.code == 4
        assert "Traceback" not in again.err
        whole = ask(server, "--resume", "samples.jsonl", "--no-run", "--format", "json")
    assert whole.code == 0, whole.err
    report = whole.json
    assert (report["scripted"], report["missing"]) == (True, 0)
    assert [(one["k"], one["pass"]) for one in report["best"]] == [
        (1, pytest.approx(2 / 3)),
        (3, 1.0),
    ]
    assert len(server.exchanges) >= 6


@needs_box
def test_an_interrupt_tells_what_is_under_way(folder):
    with ScriptedServer([{"reply": "late", "slow": 0.5}]) as server:
        command = [sys.executable, "-m", "benchmarks.nl", "--modes", "plain", "--no-run"]
        with subprocess.Popen(
            command, env={**os.environ, **server.environment}, stderr=subprocess.PIPE, text=True
        ) as process:
            while not server.requests and process.poll() is None:
                server.wait(0.02)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
    assert process.returncode == 130, err
    told = ("interrupted: 1 sample is under way\n", "error: interrupted\n", "answers are missing")
    assert all(words in err for words in told), err


def test_without_a_box_nothing_is_asked(ask, folder, monkeypatch):
    monkeypatch.setattr("couler.box.isolation", lambda: Isolation("there is no box here"))
    with ScriptedServer(script(plan("diamond"), schedule)) as server:
        told = ask(server, "--json", "samples.jsonl")
        assert server.requests == ()
    assert told.code == 3
    assert told.err.endswith("error: there is no box here\n")
    assert not (folder / "samples.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--benchmark", "."), "is no benchmark"),
        (("--items", "nothing*"), 'like "nothing*"'),
        (("--k", "7"), "pass@7 needs at least 7 samples"),
        (("--k", "0"), "--k"),
        (("--temperatures", "warm"), "--temperatures"),
        (("--json", "x", "--resume", "here.jsonl"), "leave --json out"),
        (("--resume", "here.jsonl"), "here.jsonl"),
        (("--resume", "/nope"), "/nope: No such file"),
        (("--json", "/nope/x"), "/nope/x: No such file"),
        (("--jobs", "0"), "--jobs"),
        (("--descriptions", "0"), "--descriptions"),
    ],
)
def test_what_cannot_be_asked(evaluate, folder, monkeypatch, arguments, message):
    monkeypatch.setenv("COULER_LLM_API_KEY", "sk-0123456789")
    monkeypatch.setenv("COULER_LLM_MODEL", "m")
    (folder / "here.jsonl").write_text("{}\n")
    own = () if "--benchmark" in arguments else ("--benchmark", str(FOLDER))
    told = evaluate("--modes", "plain", *own, *arguments)
    assert told.code == 2, told.err
    assert message in told.err
    assert told.out == ""


def test_no_such_mode(evaluate):
    told = evaluate("--benchmark", str(FOLDER), "--modes", "rare")
    assert told.code == 3
    assert "there are: plain, one-shot, code, modules" in told.err


@needs_box
def test_key_missing(evaluate, folder):
    told = evaluate(
        *("--benchmark", str(FOLDER), "--modes", "plain", "--model", "m"),
        *("--json", "samples.jsonl"),
    )
    assert told.code == 3
    assert "Traceback" not in told.err
    assert not list(folder.glob("*.jsonl"))


@needs_box
def test_endpoint_down(evaluate, monkeypatch):
    monkeypatch.setenv("COULER_LLM_API_KEY", "sk-0123456789")
    monkeypatch.setenv("COULER_LLM_MAX_RETRIES", "0")
    with ScriptedServer([]) as server:
        address = server.base_url
    told = evaluate(
        *("--benchmark", str(FOLDER), "--items", "hello", "--modes", "plain"),
        *("--model", "m", "--base-url", address, "--json", "samples.jsonl", "--no-run"),
    )
    assert told.code == 4
    assert "--resume samples.jsonl" in told.err
    assert "Traceback" not in told.err
