"""The runner of a group: what processes see, how they end, what it tells."""

from __future__ import annotations

import ast
import json
import os
import signal
import subprocess
import sys
import time
import typing as t
from pathlib import Path

import pytest

from couler.ir.grouped import InnerEnd, read_report
from couler.optimizers.grouped.lowering import literal, script_of
from couler.optimizers.grouped.run_attempts import Running
from couler.optimizers.grouped.scope_problem import RUNNER_BYTES
from tests.support.processes import is_running


class Ran(t.NamedTuple):
    code: int
    lines: list[str]
    ends: dict[str, InnerEnd]
    work: Path

    def of(self, name: str) -> list[str]:
        """Return the lines of a step, and those about it, without its name."""
        return [line.removeprefix(f"{name} ") for line in self.lines if line.startswith(f"{name} ")]


def start(folder: Path, *steps: dict[str, t.Any], **fields: t.Any) -> subprocess.Popen[str]:
    kept = ("COULER_", "GROUPED_ENV_")
    given = {key: fields.pop(key) for key in list(fields) if key.startswith(kept)}
    group = {"steps": [{"after": [], **step} for step in steps], "outputs": [], **fields}
    script = folder / "script.py"
    script.write_text(script_of(group, "a test"))
    work = folder / "work"
    work.mkdir()
    environ = {name: text for name, text in os.environ.items() if not name.startswith("COULER_")}
    return subprocess.Popen(
        [sys.executable, str(script)],
        cwd=work,
        env={**environ, "COULER_WORK": str(work), **given},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end_of(process: subprocess.Popen[str], folder: Path) -> Ran:
    try:
        text, _ = process.communicate()
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    lines = text.splitlines()
    ends = {end.name: end for end in read_report(lines).ends}
    return Ran(process.returncode, lines, ends, folder / "work")


def run(folder: Path, *steps: dict[str, t.Any], **fields: t.Any) -> Ran:
    return end_of(start(folder, *steps, **fields), folder)


def sh(name: str, says: str, *after: str, **fields: t.Any) -> dict[str, t.Any]:
    return {"name": name, "after": list(after), "words": ["sh", "-c", says], **fields}


RESULT = [{"name": "result", "type": "str"}]


def value_of(step: str, output: str = "result") -> dict[str, str]:
    return {"step": step, "output": output}


def test_values_and_files_stay_in_the_pod(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        sh(
            "write",
            'cd "$COULER_WORK" && printf "a\\nb\\n" > raw && echo two && echo not it >&2',
            outputs=[*RESULT, {"name": "raw", "type": "file", "path": "raw"}],
        ),
        sh(
            "read",
            'cat "$COULER_INPUT_raw"; echo $COULER_INPUT_count; echo spoilt > "$COULER_INPUT_raw"',
            "write",
            inputs=[
                {"name": "raw", "type": "file", "value": value_of("write", "raw"), "path": "in/x"},
                {"name": "count", "type": "str", "value": value_of("write")},
            ],
            outputs=RESULT,
        ),
        outputs=[
            {"step": "read", "output": "result", "path": "outputs/0"},
            {"step": "write", "output": "raw", "path": "outputs/1"},
        ],
    )
    assert ran.code == 0
    assert (ran.work / "outputs" / "0").read_text() == "a\nb\ntwo\n"
    assert (ran.work / "outputs" / "1").read_text() == "a\nb\n"
    assert sorted(ran.of("write")) == ["| not it", "| two"]
    assert [end.state for end in ran.ends.values()] == ["succeeded", "succeeded"]
    assert ran.lines[-1].startswith("couler-group: ")


def test_other_branches_go_on_after_a_failure(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        sh("bad", "exit 3"),
        sh("below", "true", "bad"),
        sh("deeper", "true", "below"),
        sh("good", "true"),
        sh("worse", "exit 5", "good"),
    )
    assert ran.code == 3
    assert {name: end.state for name, end in ran.ends.items()} == {
        "bad": "failed",
        "below": "omitted",
        "deeper": "omitted",
        "good": "succeeded",
        "worse": "failed",
    }
    assert ran.of("bad") == ["! it ended with exit code 3"]
    assert (ran.ends["worse"].exit_code, ran.ends["below"].started) == (5, None)
    assert ran.ends["below"].message == "it needs the success of bad, which failed"
    assert ran.ends["deeper"].message == "it needs the success of below, which was omitted"


@pytest.mark.parametrize(
    ("retry", "attempts"),
    [
        ({"limit": 2, "on": ["failure"]}, 3),
        ({"limit": 2, "on": ["failure"], "exit_codes": [4]}, 1),
        ({"limit": 2, "on": ["failure"], "exit_codes": [4, 3]}, 3),
        ({"limit": 2, "on": ["error"]}, 1),
        ({"limit": 2, "on": ["failure"], "seconds": 0.01, "factor": 2.0, "cap_s": 0.01}, 3),
        ({"limit": 5, "on": ["failure"], "seconds": 9, "factor": 2.0, "max_duration_s": 5}, 1),
        (None, 1),
    ],
)
def test_attempts(tmp_path: Path, retry: dict[str, t.Any] | None, attempts: int) -> None:
    ran = run(tmp_path, sh("bad", 'test ! -e "$COULER_WORK/x"; touch x; exit 3', retry=retry))
    assert (ran.code, ran.ends["bad"].attempts) == (3, attempts)


def test_an_attempt_that_succeeds_in_the_end(tmp_path: Path) -> None:
    says = f"echo x >> {tmp_path}/tries; test $(wc -l < {tmp_path}/tries) = 3"
    ran = run(tmp_path, sh("flaky", says, retry={"limit": 4, "on": ["failure", "error"]}))
    assert (ran.code, ran.ends["flaky"].attempts, ran.ends["flaky"].exit_code) == (0, 3, 0)
    assert ran.of("flaky") == ["! it ended with exit code 1; it is tried again"] * 2


def test_a_time_limit_ends_all_that_the_step_began(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        sh(
            "slow",
            f"(sleep 30; touch {tmp_path}/late) & echo $! > {tmp_path}/pid; sleep 30",
            timeout_s=0.2,
        ),
    )
    assert (ran.code, ran.ends["slow"].message) == (1, "it took longer than 0.2 s")
    assert not is_running(int((tmp_path / "pid").read_text()))


def test_what_cannot_start_is_an_error(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        {"name": "none", "words": ["/no/such"], "retry": {"limit": 1, "on": ["error"]}},
    )
    assert ran.ends["none"].attempts == 2
    assert '"/no/such" cannot be started' in (ran.ends["none"].message or "")


def test_outputs_that_are_not_written(tmp_path: Path) -> None:
    outputs = [
        {"name": "v", "type": "int", "path": "v", "default": "7"},
        {"name": "f", "type": "file", "path": "f", "optional": True},
    ]
    optional = {"name": "f", "type": "file", "value": value_of("none", "f"), "optional": True}
    ran = run(
        tmp_path,
        sh("none", "true", outputs=outputs),
        sh("must", "true", outputs=[{"name": "x", "type": "str", "path": "x"}]),
        sh("read", 'test ! -e "$COULER_INPUT_f" && echo $1', "none", inputs=[optional]),
        outputs=[],
    )
    assert [ran.ends[name].state for name in ("none", "must", "read")] == [
        "succeeded",
        "failed",
        "succeeded",
    ]
    assert ran.ends["must"].message == 'the output "x": the process did not write the file x'


def test_a_value_that_cannot_be_worked_out_is_no_attempt(tmp_path: Path) -> None:
    part = {"field": value_of("a"), "path": ["x"]}
    ran = run(
        tmp_path,
        sh("a", "echo '{}'", outputs=RESULT),
        {
            "name": "b",
            "after": ["a"],
            "words": ["echo", part],
            "retry": {"limit": 3, "on": ["error"]},
        },
    )
    assert (ran.ends["b"].state, ran.ends["b"].attempts) == ("failed", 0)
    assert ran.ends["b"].message == "there is no 'x' in {}"


def test_what_a_process_sees(tmp_path: Path) -> None:
    says = 'import os, json; print(json.dumps({k: v for k, v in os.environ.items() if "E" in k}))'
    ran = run(
        tmp_path,
        {
            "name": "a",
            "words": ["python"],
            "python": "python",
            "script": says,
            "outputs": RESULT,
            "env": [{"name": "OWNED", "value": "x"}, {"name": "SECRET", "hidden": "GROUPED_ENV_0"}],
        },
        outputs=[{"step": "a", "output": "result", "path": "o"}],
        GROUPED_ENV_0="hush",
        COULER_INPUT_in_0="not for all",
    )
    seen = json.loads((ran.work / "o").read_text())
    assert (seen["OWNED"], seen["SECRET"]) == ("x", "hush")
    assert [name for name in seen if name.startswith(("COULER_", "GROUPED_"))] == ["COULER_WORK"]
    assert seen["COULER_WORK"] == str(ran.work / "steps" / "0-1" / "work")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_log_that_takes_nothing_fails_the_group_and_hangs_nothing(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    group = {"steps": [sh("a", "echo much; echo more"), sh("b", "echo b", "a")], "outputs": []}
    script = tmp_path / "script.py"
    script.write_text(script_of(group, "a test"))
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, "COULER_WORK": str(tmp_path / "work")},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"the log cannot be written: [Errno 28]")


@pytest.mark.parametrize("fields", [{"max_parallel": 1}, {"room": {"cpu": 2}}])
def test_no_more_run_than_there_is_room_for(tmp_path: Path, fields: dict[str, t.Any]) -> None:
    says = f"mkdir {tmp_path}/lock && sleep 0.1 && rmdir {tmp_path}/lock"
    steps = [sh(f"s{n}", says, needs={"cpu": 1.5}) for n in range(4)]
    assert run(tmp_path, *steps, **fields).code == 0


def test_what_an_attempt_that_is_tried_again_wrote_is_gone(tmp_path: Path) -> None:
    """The pod asks for what its steps ask for, each once."""
    says = f'echo much > "$COULER_WORK/big"; echo >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) = 3'
    ran = run(tmp_path, sh("a", says, retry={"limit": 3, "on": ["failure"]}))
    assert (ran.code, ran.ends["a"].attempts) == (0, 3)
    assert [folder.name for folder in (ran.work / "steps").iterdir()] == ["0-3"]


def test_a_log_that_does_not_block_loses_nothing(tmp_path: Path) -> None:
    """A program that shares it may have set it so."""
    (tmp_path / "work").mkdir()
    says = "i=0; while [ $i -lt 3000 ]; do printf '%099d\\n' $i; i=$((i+1)); done"
    script = tmp_path / "script.py"
    script.write_text(script_of({"steps": [sh("a", says)], "outputs": []}, "a test"))
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    process = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "COULER_WORK": str(tmp_path / "work")},
        stdout=writing,
    )
    os.close(writing)
    time.sleep(2)
    with open(reading, "rb") as log:
        lines = log.read().splitlines()
    assert process.wait() == 0
    assert len(lines) == 3001


def test_only_what_still_runs_is_ended_by_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of a process that has ended may be that of another one by then."""
    running = Running()
    gone, stays = (running.start(["sleep", "60"]) for _ in range(2))
    sent: list[tuple[int, int]] = []
    send = os.killpg

    def killpg(pid: int, number: int) -> None:
        sent.append((pid, number))
        send(pid, number)

    monkeypatch.setattr(os, "killpg", killpg)
    trapped = running.start(["sh", "-c", "trap '' TERM; echo on; while :; do sleep 0.1; done"])
    assert trapped.stdout is not None
    trapped.stdout.readline()
    running.stop(0.5)
    for process in (gone, stays):
        process.wait()
        running.close(process)
    trapped.wait()
    running.close(trapped)
    for process in (gone, stays):
        assert [number for pid, number in sent if pid == process.pid] == [
            signal.SIGTERM,
            signal.SIGKILL,  # of what it left behind, at once
        ]
    for process in (gone, stays, trapped):
        assert process.stdout is not None
        process.stdout.close()


@pytest.mark.skipif(
    subprocess.run(["unshare", "-rpf", "--mount-proc", "true"], check=False).returncode != 0,
    reason="no process can be the first one of a namespace here",
)
def test_the_first_process_of_a_pod_leaves_no_zombies(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    leaves = "for i in 1 2 3 4 5; do sleep 60 & done"
    looks = "ps -e -o stat= | grep -c Z || true"
    steps = [sh("a", leaves), sh("b", leaves, "a"), sh("c", "sleep 0.3", "b"), sh("d", looks, "c")]
    script = tmp_path / "script.py"
    script.write_text(script_of({"steps": steps, "outputs": []}, "a test"))
    ran = subprocess.run(
        ["unshare", "-rpf", "--mount-proc", sys.executable, str(script)],
        env={**os.environ, "COULER_WORK": str(work)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines()[0] == "d | 0"


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="processors cannot be taken away")
def test_as_many_run_as_there_are_processors_and_two_at_least(tmp_path: Path) -> None:
    says = f"echo + >> {tmp_path}/log; sleep 0.1; echo - >> {tmp_path}/log"
    steps = [sh(f"s{n}", says) for n in range(12)]
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})  # which the process begins with
    try:
        process = start(tmp_path, *steps, max_parallel="processors")
    finally:
        os.sched_setaffinity(0, before)
    assert end_of(process, tmp_path).code == 0
    at_once = most = 0
    for sign in (tmp_path / "log").read_text().split():
        at_once += 1 if sign == "+" else -1
        most = max(most, at_once)
    assert most == 2


def test_steps_run_side_by_side(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    wait = "touch {}; until test -e {}; do sleep 0.01; done"
    steps = [sh("a", wait.format(one, other)), sh("b", wait.format(other, one))]
    assert run(tmp_path, *steps).code == 0


def test_a_signal_ends_what_runs_and_is_told(tmp_path: Path) -> None:
    process = start(tmp_path, sh("a", f"touch {tmp_path}/on; sleep 30"), sh("b", "true", "a"))
    while not (tmp_path / "on").exists():
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    ran = end_of(process, tmp_path)
    assert ran.code != 0
    assert [end.state for end in ran.ends.values()] == ["failed", "omitted"]
    assert ran.ends["a"].message == "the group was asked to end"


HEARS = """
import signal, threading
from couler.optimizers.grouped import run_group

runner = run_group.Runner({"steps": [], "outputs": []}, run_group.Log())
signal.signal(signal.SIGTERM, runner.stop)

def tell():
    # It does not wake the main thread, as one that comes just before that begins to wait.
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    runner.ended.put(("heard" if runner.running.stopped.wait(500) else "missed", {}))

threading.Timer(0.5, tell).start()
print(runner.next_end()[0])
"""


def test_a_signal_is_heard_while_a_step_runs_whenever_it_comes() -> None:
    done = subprocess.run([sys.executable, "-c", HEARS], capture_output=True, text=True, check=True)
    assert done.stdout == "heard\n"


def test_lines_are_whole_and_named(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        *(sh(f"s{n}", "for i in 1 2 3; do printf 'a%s\\n' $i; done; printf end") for n in range(5)),
    )
    for n in range(5):
        assert ran.of(f"s{n}") == ["| a1", "| a2", "| a3", "| end"]


def test_a_link_out_of_the_work_folder_is_no_output(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    says = f'ln -s {tmp_path}/secret "$COULER_WORK/f"'
    ran = run(tmp_path, sh("a", says, outputs=[{"name": "f", "type": "file", "path": "f"}]))
    assert "a link that leads out" in (ran.ends["a"].message or "")


def test_the_script_is_python_of_old_images() -> None:
    text = script_of({"steps": [], "outputs": []}, "title")
    assert len(text.encode()) < RUNNER_BYTES
    ast.parse(text, feature_version=(3, 8))
    assert "import couler" not in text
    assert "from couler" not in text
    assert not any(read in text for read in ("{{", "${", "$(", "$$"))


@pytest.mark.parametrize(
    "text",
    ["$$", "a {{x}} ${HOME}", "\\$", "\\\\{{", "'\"", "a\nb", "\r\n", "\u2028x", "é\x00", ""],
)
def test_literals_say_what_they_were_made_of(text: str) -> None:
    tree = {"a": [text, {text: text}], "b": [1, 2.5, None, True, [text] * 30]}
    written = literal(tree)
    assert ast.literal_eval(written) == tree
    assert "$" not in written
    assert "{{" not in written
