"""`couler list`, `status`, `logs`, `cancel`, `resume` and `delete`, against real runs."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from couler.cli._app import app
from tests.support.waiting import until

SLOW = """
ir_version: "1"
name: slow
steps:
- name: each
  action: {kind: container, image: busybox, command: [sh, -c, "echo item $COULER_INPUT_n; sleep $COULER_INPUT_n"]}
  inputs: [{name: n, value: {kind: item, name: n}}]
  foreach: {over: {n: {kind: literal, value: [0, 60]}}}
- name: ask
  action: {kind: suspend, message: Go on?}
- name: after
  action: {kind: container, image: busybox, command: [sh, -c, "echo after"]}
  depends_on: [ask]
- name: never
  action: {kind: container, image: busybox, command: ["true"]}
  depends_on: [each]
"""  # noqa: E501  # one line in YAML

ASKING = """
ir_version: "1"
name: asking
steps:
- name: before
  action: {kind: container, image: busybox, command: [sh, -c, "echo before; printf unfinished"]}
- name: ask
  action: {kind: suspend, message: Go on?}
  depends_on: [before]
- name: after
  action: {kind: container, image: busybox, command: [sh, -c, "echo after"]}
  depends_on: [ask]
"""


@pytest.fixture
def start(folder: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a command, and return when it has said a line."""
    started: list[subprocess.Popen[str]] = []

    def begin(*arguments: str, until: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "couler.cli", *arguments],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        stream = process.stdout if arguments[0] == "logs" else process.stderr
        assert stream is not None
        told = iter(stream.readline, "")
        assert any(re.search(until, line) for line in told), until
        return process

    yield begin
    for process in started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.communicate()


def states(couler: Callable) -> dict[str, str]:
    told = couler("status", "latest", "--format", "json")
    return {step["path"]: step["status"] for step in told.json["steps"]}


def test_a_run_that_goes_on(couler: Callable, write: Callable, start: Callable) -> None:
    process = start("run", write("slow.yaml", SLOW), "-j", "4", until="waiting: couler resume")
    until(lambda: states(couler).get("each[0]") == "succeeded")
    assert states(couler) == {
        "each": "running",
        "each[0]": "succeeded",
        "each[1]": "running",
        "ask": "suspended",
        "after": "waiting",
        "never": "waiting",
    }
    told = couler("status", "latest").out
    run = told.split()[0]
    lines = [line.strip() for line in told.splitlines()]
    assert re.fullmatch(rf"{run}  running  \d+\.\d s", lines[0])
    assert re.fullmatch(r"each\[1\] +running +\d+\.\d s +1 +\S+each\[1\]\.log", lines[4])
    assert re.fullmatch(rf"ask +suspended .* couler resume {run} ask", lines[5])
    assert [line.split()[1] for line in lines if line.startswith("◆")] == ["each", "never", "the"]
    [listed] = couler("list", "--status", "running", "--format", "json").json["runs"]
    assert (listed["run"], listed["workflow"]) == (run, "slow")

    told = couler("delete", run)
    assert (told.code, told.out) == (4, "")
    assert f"couler cancel {run}" in told.err
    assert couler("retry", run).code == 4
    told = couler("resume", run, "after")
    assert told.code == 4
    assert '"after" does not wait. These do: ask' in told.err
    assert couler("resume", run, "ask").err == f"{run}: ask goes on\n"
    until(lambda: states(couler)["after"] == "succeeded")
    assert "no step waits" in couler("resume", run).err

    told = couler("cancel", run)
    assert (told.code, told.err) == (0, f"{run} is cancelled; resume with couler retry {run}\n")
    assert process.wait() == 130
    assert states(couler)["each[1]"] == "cancelled"
    told = couler("cancel", run)
    assert (told.code, told.err) == (1, f"{run} has ended already: cancelled\n")
    assert couler("resume", run).code == 4


def test_a_run_whose_engine_was_killed(couler: Callable, write: Callable, start: Callable) -> None:
    process = start("run", write("slow.yaml", SLOW), "-j", "4", until="waiting: couler resume")
    until(lambda: states(couler).get("each[1]") == "running")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    until(lambda: couler("list", "--status", "running", "--format", "json").json["runs"] == [])
    [run] = couler("list", "--status", "interrupted", "--format", "json").json["runs"]
    found = states(couler)
    assert (found["each"], found["each[1]"]) == ("interrupted", "interrupted")
    assert f"resume with couler retry {run['run']}" in couler("status", "latest").out
    assert couler("cancel", "latest").code == 0
    assert couler("list", "--format", "json").json["runs"][0]["status"] == "cancelled"


def test_json_of_status_has_what_that_of_run_has(couler: Callable, greet: str) -> None:
    ran = couler("run", "-q", greet, "--format", "json").json
    told = couler("status", ran["run"][:-2], "--format", "json").json
    assert told.keys() == ran.keys() - {"notes"} | {"engine", "target"}
    of_step = told["steps"][0]
    assert of_step.keys() == ran["steps"][0].keys() - {"reused"} | {
        "cpu_s",
        "peak_bytes",
        "source_run",
        "node",
    }
    assert of_step["cpu_s"] >= 0
    assert of_step["node"] == socket.gethostname()
    for one, other in zip(told["steps"], ran["steps"], strict=True):
        assert {name: one[name] for name in ("path", "status", "attempts", "outputs", "log")} == {
            name: other[name] for name in ("path", "status", "attempts", "outputs", "log")
        }
    assert told["schema_version"] == ran["schema_version"]
    assert told["outputs"] == {"greeting": "hi you"}


def test_long_lists_are_counted(couler: Callable, write: Callable) -> None:
    items = list(range(25))
    file = write(
        "long.yaml",
        f"""
        ir_version: "1"
        name: long
        steps:
        - name: each
          action: {{kind: container, image: b, command: [sh, -c, "test $COULER_INPUT_n != 7"]}}
          inputs: [{{name: n, value: {{kind: item, name: n}}}}]
          foreach: {{over: {{n: {{kind: literal, value: {items}}}}}}}
        """,
    )
    assert couler("run", "-q", file, "-j", "4").code == 1
    rows = [line.split()[:2] for line in couler("status", "latest").out.splitlines()[2:5]]
    assert rows == [["each", "failed"], ["each[7]", "failed"], ["each[...]:", "24"]]
    assert len(couler("status", "latest", "--all").out.splitlines()) > 25


def test_list(couler: Callable, greet: str, write: Callable) -> None:
    assert couler("list")[:2] == (0, "")
    for who in "abc":
        couler("run", "-q", greet, "-p", f"who={who}")
    told = couler("list", "-n", "2", "--format", "json").json
    assert [run["outputs"]["greeting"] for run in told["runs"]] == ["hi c", "hi b"]
    assert couler("list", "--workflow", "other", "--format", "json").json["runs"] == []
    assert couler("list", "--status", "failed").out == ""
    header, *rows = couler("list").out.splitlines()
    assert header.split() == ["run", "status", "began", "(UTC)", "took"]
    assert len(rows) == 3


def test_logs_of_a_run_and_of_a_step(couler: Callable, greet: str) -> None:
    couler("run", "-q", greet)
    assert couler("logs", "latest").out == "hello | hi you\nagain | hi you\n"
    assert couler("logs", "latest", "again").out == "hi you\n"
    told = couler("logs", "latest", "agan")
    assert (told.code, told.out) == (2, "")
    assert 'Did you mean "again"?' in told.err


def test_logs_of_what_did_not_run(couler: Callable, write: Callable) -> None:
    file = write(
        "off.yaml",
        """
        ir_version: "1"
        name: off
        steps:
        - name: a
          action: {kind: container, image: busybox, command: ["false"]}
        - name: b
          action: {kind: container, image: busybox, command: ["true"]}
          depends_on: [a]
        """,
    )
    couler("run", "-q", file)
    told = couler("logs", "latest", "b")
    assert (told.code, told.out) == (0, "")
    assert (
        told.err == 'step "b" has no log; it is omitted: it needs the success of a, which failed\n'
    )


@pytest.mark.slow
def test_logs_are_followed_to_the_end(couler: Callable, write: Callable, start: Callable) -> None:
    run = start("run", write("asking.yaml", ASKING), until="waiting: couler resume")
    follower = start("logs", "latest", "-f", until="^before | before")
    assert couler("resume", "latest").code == 0
    # Not communicate(): it would miss what is in the buffer of the lines that were read before.
    assert follower.stdout.read() == "before | unfinished\nafter  | after\n"
    assert (follower.wait(), follower.stderr.read()) == (0, "")
    assert run.wait() == 0


@pytest.mark.slow
def test_status_lives_on_a_terminal(couler: Callable, write: Callable, start: Callable) -> None:
    start("run", write("asking.yaml", ASKING), until="waiting: couler resume")
    leader, follower = pty.openpty()
    watcher = subprocess.Popen(
        [sys.executable, "-m", "couler.cli", "status", "latest", "--watch"],
        stdout=follower,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "60", "LINES": "20"},
    )
    os.close(follower)
    shown = b""
    while b"suspended" not in shown:
        shown += os.read(leader, 4096)
    assert couler("resume", "latest").code == 0
    with contextlib.suppress(OSError):  # how Linux tells that the other end is closed
        while piece := os.read(leader, 4096):
            shown += piece
    os.close(leader)
    assert watcher.wait() == 0
    *_, end = shown.decode().split("\x1b[?25h")  # the cursor is back: what stays
    lines = re.sub(r"\x1b\[[0-9;]*[a-zA-Z]", "", end).strip().splitlines()
    assert re.fullmatch(r"asking-\w+  succeeded  \d+\.\d s", lines[0])
    assert lines[-1].startswith("logs and files: ")


def test_delete(couler: Callable, greet: str, folder: Path) -> None:
    first = couler("run", "-q", greet, "--format", "json").json
    second = couler("run", "-q", greet, "--format", "json").json
    locked = Path(first["folder"], "work", "locked")
    (locked / "inside").mkdir(parents=True)
    locked.chmod(0)
    assert couler("delete", first["run"], "nope").code == 2
    assert Path(first["folder"]).exists()
    told = couler("delete", first["run"], second["run"])
    assert (told.code, told.err.splitlines()) == (
        0,
        [f"deleted {first['run']}", f"deleted {second['run']}"],
    )
    assert not Path(first["folder"]).exists()
    assert couler("list", "--format", "json").json["runs"] == []
    assert couler("status", "latest").code == 2


def test_runs_are_completed(couler: Callable, greet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete

    complete = ShellComplete(app, {}, "couler", "_COULER_COMPLETE").get_completions
    assert complete(["status"], "") == []
    assert not Path("data").exists()  # completing makes nothing
    run = couler("run", "-q", greet, "--format", "json").json["run"]
    assert [item.value for item in complete(["status"], "gre")] == [run]
    assert complete(["logs"], "x") == []


ENTERING = """
ir_version: "1"
name: entering
steps:
- name: ask
  action: {kind: suspend, message: Which rate?}
  outputs: [{name: rate, type: float}, {name: note, default: none}]
- name: after
  action:
    kind: container
    image: busybox
    command: [sh, -c, 'echo "$0 $1"', {kind: step, step: ask, output: rate}]
    args: [{kind: step, step: ask, output: note}]
"""


def test_values_that_a_person_enters(
    couler: Callable, write: Callable, start: Callable, capfd: pytest.CaptureFixture[str]
) -> None:
    process = start("run", write("entering.yaml", ENTERING), until="waiting: couler resume")
    for values, told in (
        ((), 'ask: a value for "rate" must be entered: -p rate=...'),
        (("-p", "rat=x"), 'ask: it gives no "rat" on. Did you mean "rate"?'),
        (("-p", "rate=high"), "ask: "),
    ):
        refused = couler("resume", "latest", "ask", *values)
        assert refused.code == 2
        assert told in refused.err
    assert couler("resume", "latest", "ask", "-p", "rate=0.5").code == 0
    assert process.wait() == 0
    assert couler("logs", "latest", "after").out == "0.5 none\n"


ENTERING_A_TABLE = """
ir_version: "1"
name: table
steps:
- name: ask
  action: {kind: suspend, message: Which?}
  outputs: [{name: rate, type: float}, {name: code, type: json}, {name: note}]
- name: after
  action:
    kind: container
    image: busybox
    command: [sh, -c, 'echo "$0 $1 $2"', {kind: step, step: ask, output: rate}]
    args: [{kind: step, step: ask, output: code}, {kind: step, step: ask, output: note}]
"""


def test_values_of_a_file_keep_their_types(
    couler: Callable, write: Callable, start: Callable, capfd: pytest.CaptureFixture[str]
) -> None:
    write("entered.yaml", 'rate: 0.5\ncode: "007"\nnote: fine\n')
    write("texts.yaml", 'rate: "0.5"\ncode: "007"\nnote: fine\n')
    write("numbers.yaml", "rate: 0.5\ncode: 7\nnote: 5\n")
    process = start("run", write("table.yaml", ENTERING_A_TABLE), until="waiting: couler resume")
    for file, told in (
        ("texts.yaml", "ask: the value for \"rate\": '0.5' is a text, and its type is float"),
        ("numbers.yaml", 'ask: the value for "note": 5 is not of its type, str'),
    ):
        refused = couler("resume", "latest", "ask", "-p", f"@{file}")
        assert refused.code == 2
        assert told in refused.err
    assert couler("resume", "latest", "ask", "-p", "@entered.yaml").code == 0
    assert process.wait() == 0
    assert couler("logs", "latest", "after").out == "0.5 007 fine\n"


FAILING = """
ir_version: "1"
name: failing
steps:
- name: part
  action:
    kind: group
    steps:
    - {name: deep, action: {kind: container, image: busybox, command: [sh, -c, "exit 3"]}}
    - name: after
      depends_on: [deep]
      action: {kind: container, image: busybox, command: ["true"]}
- {name: behind, depends_on: [part], action: {kind: container, image: busybox, command: ["true"]}}
- {name: odd, action: {kind: container, image: busybox, command: ["false"]}}
- name: repair
  depends_on: [{step: odd, on: failure}]
  action: {kind: container, image: busybox, command: ["true"]}
"""


def test_a_failed_run_names_the_step_that_failed(couler: Callable, write: Callable) -> None:
    told = couler("run", write("failing.yaml", FAILING), "--format", "json")
    assert (told.code, told.json["message"]) == (1, "failed: part/deep")
    [listed] = couler("list").out.splitlines()[1:]
    assert listed.endswith("failed: part/deep")
    assert couler("list", "--format", "json").json["runs"][0]["message"] == "failed: part/deep"
    assert "failed: part/deep" in couler("status", "latest").out.splitlines()
    status = couler("status", "latest", "--format", "json").json
    assert status["message"] == "failed: part/deep"
    ends = {step["path"]: step["message"] for step in status["steps"]}
    assert ends["part"] == "failed inside: deep"


GROUPED = """
import couler

@couler.step
def make() -> int:
    return 1

@couler.step
def wait(number: int, there: str) -> int:
    import time
    from pathlib import Path
    Path(there).touch()
    time.sleep(600)
    return number

with couler.Workflow("grouped"):
    wait(make(), "THERE")
"""


def test_a_step_in_the_pod_of_others_is_cancelled_with_them(
    couler: Callable, write: Callable, start: Callable, folder: Path
) -> None:
    file = write("grouped.py", GROUPED.replace("THERE", str(folder / "there")))
    process = start("run", file, "--pass", "group", until="started")
    until((folder / "there").exists)
    assert couler("cancel", "latest").code == 0
    told = process.communicate()
    assert "failed" not in "".join(map(str, told))
    steps = couler("status", "latest", "--format", "json").json["steps"]
    ends = {step["path"]: (step["status"], step["message"]) for step in steps}
    assert ends["make"] == ("succeeded", None)
    assert ends["wait"] == ("cancelled", "the run was cancelled")
