"""Processes: what they are given, what is kept of them, and that nothing outlives them."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from couler.backends.local.masking import Masker
from couler.backends.local.process import ProcessEnd, run_process


def run_shell(
    script: str,
    directory: Path,
    *,
    timeout_s: float | None = None,
    stop: threading.Event | None = None,
    keep_bytes: int = 100,
) -> tuple[ProcessEnd, str]:
    """Run a line of shell; return its end and what it wrote to both outputs."""
    written: list[bytes] = []
    end = run_process(
        ["sh", "-c", script],
        environ={"PATH": os.environ["PATH"]},
        directory=directory,
        on_output=lambda _name, chunk: written.append(chunk),
        deadline=None if timeout_s is None else time.monotonic() + timeout_s,
        stop=stop or threading.Event(),
        keep_bytes=keep_bytes,
    )
    return end, b"".join(written).decode()


def ends(pid: int) -> bool:
    """Wait for a process that was told to end; the signal takes its time."""
    until = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"  # a zombie waits to be reaped by whoever inherited it


def test_exit_code_and_outputs(tmp_path: Path) -> None:
    end, written = run_shell("echo out; echo err >&2; pwd; exit 3", tmp_path)
    assert (end.reason, end.exit_code) == ("exit", 3)
    assert end.stdout.decode() == f"out\n{tmp_path}\n"
    assert sorted(written.split()) == sorted(["out", "err", str(tmp_path)])


def test_end_by_a_signal_counts_as_in_a_shell(tmp_path: Path) -> None:
    end, _ = run_shell("kill -9 $$", tmp_path)
    assert (end.reason, end.exit_code) == ("exit", 137)


def test_large_output_is_written_whole_and_kept_in_part(tmp_path: Path) -> None:
    end, written = run_shell("head -c 300000 /dev/zero | tr '\\0' x", tmp_path, keep_bytes=10)
    assert end.stdout == b"x" * 11
    assert written == "x" * 300_000


def test_process_sees_only_the_given_environment(tmp_path: Path) -> None:
    end, _ = run_shell("env | cut -d= -f1 | sort | tr '\\n' ' '", tmp_path)
    assert set(end.stdout.decode().split()) <= {"PATH", "PWD", "_", "SHLVL", "OLDPWD"}


def test_python_is_this_interpreter(tmp_path: Path) -> None:
    end = run_process(
        ["python", "-c", "import sys; print(sys.executable)"],
        environ={},
        directory=tmp_path,
        on_output=lambda *_: None,
        deadline=None,
        stop=threading.Event(),
        keep_bytes=1000,
    )
    assert end.stdout.decode().strip() == sys.executable


def test_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    end, _ = run_shell("sleep 60 & echo $! > child; wait", tmp_path, timeout_s=1)
    assert end.reason == "timeout"
    assert ends(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_process_that_ignores_the_request_to_end_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("couler.backends.local.process.GRACE_S", 0.2)
    end, _ = run_shell("trap '' TERM; while :; do sleep 0.05; done", tmp_path, timeout_s=0.7)
    assert (end.reason, end.exit_code) == ("timeout", 137)


def test_process_may_end_in_order_when_it_is_stopped(tmp_path: Path) -> None:
    stop = threading.Event()
    threading.Timer(0.7, stop.set).start()
    end, written = run_shell("trap 'echo bye; exit 4' TERM; sleep 60 & wait", tmp_path, stop=stop)
    assert (end.reason, end.exit_code, written) == ("stopped", 4, "bye\n")


def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    started = time.monotonic()
    end, _ = run_shell("sleep 60 & echo $!", tmp_path)
    assert end.reason == "exit"
    assert ends(int(end.stdout))
    assert time.monotonic() - started < 30  # its open output was not waited for


def test_missing_program(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        run_process(
            ["no-such-program"],
            environ={},
            directory=tmp_path,
            on_output=lambda *_: None,
            deadline=None,
            stop=threading.Event(),
            keep_bytes=1,
        )


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_secret_is_masked_however_the_stream_is_cut(size: int) -> None:
    stream = b"a hunter2 b hunter hunter2hunter2 c swordfish"
    masker = Masker(["hunter2", "swordfish", ""])
    shown = b"".join(masker.feed(stream[at : at + size]) for at in range(0, len(stream), size))
    assert shown + masker.flush() == b"a *** b hunter ****** c ***"


def test_lines_of_a_long_secret_are_masked_one_by_one() -> None:
    masker = Masker(["-----BEGIN-----\nabcdef\nx\n"])
    assert masker.feed(b"> abcdef\n> x\n") + masker.flush() == b"> ***\n> x\n"


def test_stream_without_secrets_is_not_held_back() -> None:
    assert Masker([]).feed(b"at once") == b"at once"
