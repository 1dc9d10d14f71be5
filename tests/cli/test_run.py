"""`couler run`: outputs, progress, failures and interrupts."""

from __future__ import annotations

import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FAILING = """
ir_version: "1"
name: failing
steps:
- name: fine
  action: {kind: container, image: busybox, command: ["true"]}
- name: many
  action: {kind: container, image: busybox, command: [sh, -c, "seq 1 40; echo last words; exit 3"]}
  foreach: {over: {n: {kind: literal, value: [1]}}}
- name: after
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [many]
"""

SLEEPING = """
ir_version: "1"
name: sleeping
steps:
- name: nap
  action: {kind: container, image: busybox, command: [sleep, "60"]}
exit_handlers:
- name: last
  "on": any
  steps:
  - {name: bye, action: {kind: container, image: busybox, command: ["true"]}}
"""


def test_outputs_on_standard_output_all_else_on_standard_error(
    couler: Callable, greet: str
) -> None:
    told = couler("run", greet)
    assert (told.code, told.out) == (0, "greeting = hi you\n")
    lines = told.err.splitlines()
    assert re.fullmatch(r"run        \S+-[0-9a-f]{8}", lines[0])
    assert lines[1] == "started    hello"
    assert re.fullmatch(r"succeeded  hello  \d+\.\d\d s", lines[2])
    assert re.fullmatch(r"greet-\w+ succeeded in \d+\.\d s: 2 succeeded", lines[-2])
    assert lines[-1].startswith("logs and files: ")


def test_long_text_and_other_values_can_be_read(couler: Callable, write: Callable) -> None:
    file = write(
        "outputs.yaml",
        """
        ir_version: "1"
        name: outputs
        steps:
        - name: a
          action: {kind: container, image: busybox, command: [printf, 'x  y\\n1  2\\n']}
        outputs:
        - {name: table, value: {kind: step, step: a}}
        - {name: numbers, type: list, value: {kind: literal, value: [1, 2.5]}}
        """,
    )
    told = couler("run", "-q", file)
    assert told == (0, "table =\n  x  y\n  1  2\nnumbers = [1, 2.5]\n", "")


def test_parameters_have_their_declared_type(couler: Callable, greet: str) -> None:
    told = couler("run", "-q", greet, "-p", "who=a=b", "-p", "times=7")
    assert (told.code, told.out) == (0, "greeting = hi a=b\n")
    told = couler("run", "-q", greet, "-p", "times=seven", "-p", "whom=x")
    assert (told.code, told.out) == (2, "")
    assert 'parameter "times"' in told.err
    assert 'Did you mean "who"?' in told.err
    assert couler("run", greet, "-p", "who").code == 2


def test_failure_shows_the_step_its_last_words_and_its_log(
    couler: Callable, write: Callable, folder: Path
) -> None:
    told = couler("run", "-q", write("failing.yaml", FAILING), "--home", "home")
    assert (told.code, told.out) == (1, "")
    lines = told.err.splitlines()
    assert lines[0] == 'step "many[0]" failed: it ended with exit code 3'
    assert lines[1] == "  | ... 26 lines before"
    assert "  | last words" in lines
    assert sum(line.startswith("  | ") for line in lines) == 16
    [log] = folder.glob("home/runs/failing-*/logs/many[[]0].log")
    assert lines[-3] == f"  log: {log}"
    retry = f"couler retry {log.parent.parent.name}"
    assert lines[-2] == f"resume with {retry} --home home"
    assert lines[-1] == (f"or, once the program is mended, {retry} --file failing.yaml --home home")


def test_failure_in_the_summary_and_in_json(couler: Callable, write: Callable) -> None:
    file = write("failing.yaml", FAILING)
    assert "failed in" in couler("run", file).err
    assert "1 succeeded, 1 failed, 1 omitted" in couler("run", file).err
    told = couler("run", file, "--format", "json", "-q")
    assert told.code == 1
    assert told.json["status"] == "failed"
    assert {step["name"]: step["status"] for step in told.json["steps"]}["after"] == "omitted"


def test_what_this_machine_cannot_do(couler: Callable, write: Callable) -> None:
    file = write(
        "make.yaml",
        """
        ir_version: "1"
        name: make
        steps: [{name: make, action: {kind: job, manifest: {apiVersion: v1, kind: Job}}}]
        """,
    )
    assert couler("run", file).code == 5


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_the_steps_and_runs_the_exit_handlers(
    write: Callable, folder: Path, number: signal.Signals
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "couler.cli", "run", write("sleeping.yaml", SLEEPING)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("run ")
    assert process.stderr.readline() == "started    nap\n"
    process.send_signal(number)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert "succeeded  exit:last/bye" in err
    assert "cancelled in" in err
    assert re.search(r"^cancelled; resume with couler retry sleeping-\w+$", err, re.M)
    assert 'step "nap" failed' not in err  # as was asked for
    assert "Traceback" not in err


def on_a_terminal(*command: str, cwd: Path, **environment: str) -> str:
    """Run a command with standard error on a terminal; return what it wrote there."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        command,
        cwd=cwd,
        stdout=subprocess.DEVNULL,
        stderr=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "20", **environment},
    )
    os.close(follower)
    written = b""
    while True:
        try:
            piece = os.read(leader, 4096)
        except OSError:  # how Linux tells that the other end is closed
            break
        if not piece:
            break
        written += piece
    os.close(leader)
    process.wait()
    return written.decode()


def test_table_on_a_terminal(write: Callable, folder: Path) -> None:
    command = [sys.executable, "-m", "couler.cli", "run", write("failing.yaml", FAILING)]
    shown = on_a_terminal(*command, cwd=folder)
    assert re.search(r"\x1b\[32msucceeded", shown)
    assert re.search(r"\x1b\[31mfailed", shown)
    assert "1 of 1 items failed" in shown
    assert "started    fine" not in shown


@pytest.mark.slow
def test_table_keeps_to_the_height_of_the_terminal(write: Callable, folder: Path) -> None:
    steps = [
        {"name": f"s{number}", "action": {"kind": "container", "image": "b", "command": ["true"]}}
        for number in range(40)
    ]
    text = json.dumps({"ir_version": "1", "name": "long", "steps": steps})
    (folder / "long.json").write_text(text)
    command = [sys.executable, "-m", "couler.cli", "run", "long.json"]
    shown = on_a_terminal(*command, cwd=folder, NO_COLOR="1")
    last = shown[shown.rindex("40 of 40 steps ended") : shown.rindex("logs: ")]
    assert len(last.splitlines()) < 19
    assert re.search(r"and \d+ succeeded", last)


def test_a_policy_without_a_budget_is_wrong_usage(
    couler: Callable, greet: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = couler("run", greet, "-p", "who=x", "--cache-policy", "lru")
    assert told.code == 2
    assert "nothing limits the cache" in told.err
    assert "--cache-budget SIZE" in told.err
    monkeypatch.setenv("COULER_CACHE_RUN_BUDGET", "1MB")
    assert couler("run", greet, "-p", "who=x", "--cache-policy", "lru").code == 0
    monkeypatch.delenv("COULER_CACHE_RUN_BUDGET")
    monkeypatch.setenv("COULER_CACHE_POLICY", "lru")  # a setting may wait for a budget
    assert couler("run", greet, "-p", "who=x").code == 0
