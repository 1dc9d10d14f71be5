"""Processes: what they are given, what is kept of them, and that nothing outlives them."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import time
from pathlib import Path

import pytest

from couler.backends.local.limits import CANCELLED, OUT_OF_TIME, Limits
from couler.backends.local.masking import Masker, masked
from couler.backends.local.process import (
    LostOutputError,
    LostProcessError,
    ProcessEnd,
    Streams,
    run_process,
)
from tests.support.processes import is_running


def run_words(
    words: list[str],
    directory: Path,
    *,
    timeout_s: float | None = None,
    stop_s: float | None = None,
) -> tuple[ProcessEnd, bytes, bytes]:
    """Run a command; return its end and what it wrote to each output."""
    written = {"stdout": bytearray(), "stderr": bytearray()}

    async def work() -> ProcessEnd:
        with Limits() as run, run.within(timeout_s) as limits:
            if stop_s is not None:
                asyncio.get_running_loop().call_later(stop_s, run.end, CANCELLED)
            return await run_process(
                words,
                environ={"PATH": os.environ["PATH"]},
                directory=directory,
                streams=Streams(None, written["stdout"].extend, written["stderr"].extend),
                limits=limits,
                on_start=lambda _pid: None,
                grace_s=0.3,
            )

    end = asyncio.run(work())
    return end, bytes(written["stdout"]), bytes(written["stderr"])


def run_shell(
    script: str, directory: Path, *, timeout_s: float | None = None, stop_s: float | None = None
) -> tuple[ProcessEnd, str]:
    """Run a line of shell; return its end and its standard output."""
    end, out, _ = run_words(["sh", "-c", script], directory, timeout_s=timeout_s, stop_s=stop_s)
    return end, out.decode()


def ends(pid: int) -> bool:
    """Wait for a process that was told to end; the signal takes its time."""
    until = time.monotonic() + 5
    while is_running(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not is_running(pid)


def test_exit_code_and_outputs(tmp_path: Path) -> None:
    end, out, err = run_words(["sh", "-c", "echo out; echo err >&2; pwd; exit 3"], tmp_path)
    assert (end.reason, end.exit_code) == (None, 3)
    assert (out.decode(), err) == (f"out\n{tmp_path}\n", b"err\n")


def test_output_that_cannot_be_taken_ends_the_process(tmp_path: Path) -> None:
    def take(_chunk: bytes) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async def work() -> None:
        await run_process(
            ["sh", "-c", "echo $$ > pid; echo full; sleep 60"],
            environ={"PATH": os.environ["PATH"]},
            directory=tmp_path,
            streams=Streams(None, take, take),
            limits=Limits(),
            on_start=lambda _pid: None,
        )

    with pytest.raises(LostOutputError, match="No space left"):
        asyncio.run(work())
    assert ends(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_process_sees_only_the_given_environment(tmp_path: Path) -> None:
    _, out = run_shell("env | cut -d= -f1 | sort | tr '\\n' ' '", tmp_path)
    assert set(out.split()) <= {"PATH", "PWD", "_", "SHLVL", "OLDPWD"}


def test_time_limit_ends_the_whole_group(tmp_path: Path) -> None:
    end, _ = run_shell("sleep 60 & echo $! > child; wait", tmp_path, timeout_s=1)
    assert end.reason == OUT_OF_TIME
    assert ends(int((tmp_path / "child").read_text(encoding="utf-8")))


def test_process_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    end, _ = run_shell("trap '' TERM; while :; do sleep 0.05; done", tmp_path, timeout_s=0.7)
    assert (end.reason, end.exit_code) == (OUT_OF_TIME, 137)


def test_what_a_process_leaves_behind_ends_with_it(tmp_path: Path) -> None:
    """Its open output is not waited for: it would last longer than a test may."""
    end, out = run_shell("sleep 600 & echo $!", tmp_path)
    assert end.reason is None
    assert ends(int(out))


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


def test_secrets_that_are_no_text_and_those_in_urls() -> None:
    raw = b"caf\xe9\xff!".decode(errors="surrogateescape")
    assert Masker([raw]).feed(b"it is caf\xe9\xff! or" + b"." * 9)[:10] == b"it is *** "
    assert masked(f"it is {raw}, or {raw!r}", [raw]) == "it is ***, or '***'"
    assert masked("GET /?k=a%2Fb%20c failed: 'a/b c'", ["a/b c"]) == "GET /?k=*** failed: '***'"


@pytest.mark.parametrize(
    "number", [errno.ENOSYS, errno.EPERM, errno.EMFILE], ids=errno.errorcode.get
)
def test_process_is_followed_where_the_system_gives_no_descriptor_of_it(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_pid: int) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "pidfd_open", refuse, raising=False)
    end, written = run_shell("sleep 60 & echo $!; exit 3", tmp_path)
    assert (end.reason, end.exit_code) == (None, 3)
    assert ends(int(written))


def test_process_that_became_another_users_is_reaped_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_group: int, _number: int) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "killpg", refuse)
    end, written = run_shell("echo here; sleep 0.6; exit 3", tmp_path, timeout_s=0.3)
    assert (end.reason, end.exit_code, written) == (OUT_OF_TIME, 3, "here\n")


def test_end_that_something_else_has_waited_for_is_an_error_of_the_step(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with pytest.raises(LostProcessError, match="something else waited for it"):
            run_shell("true", tmp_path)
    finally:
        signal.signal(signal.SIGCHLD, before)
