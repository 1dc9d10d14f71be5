"""Signals that reach an engine, whoever has started it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import typing as t
from collections.abc import Iterator
from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.backends.local.cache import Found, StepCache
from couler.ir.policies import Cache
from couler.state.results import Event, RunResult
from couler.store import ObjectStore
from tests.corpus.build import flow, given, param, parameter, sh
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(), reason="signals go to the main one"
)

LOCAL = LocalBackend()


def test_run_under_a_parent_that_ignores_the_ends_of_children(tmp_path: Path) -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        result = LOCAL.run(flow("w", sh("a", "exit 3")), options=RunOptions(home=tmp_path))
        assert signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (result.steps["a"].status, result.steps["a"].exit_code) == ("failed", 3)


def functions_of_main() -> Iterator[str]:
    """Yield the functions that the main thread is in."""
    frame = sys._current_frames().get(threading.main_thread().ident or 0)
    while frame is not None:
        yield frame.f_code.co_name
        frame = frame.f_back


def test_interrupt_that_a_host_turns_into_an_error_cancels_the_run(tmp_path: Path) -> None:
    def interrupt() -> None:
        until(lambda: {"result", "wait"} <= set(functions_of_main()))  # what can be interrupted
        os.kill(os.getpid(), signal.SIGINT)

    def hear(event: Event) -> None:
        if event.kind == "started":
            threading.Thread(target=interrupt).start()

    def handle(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    async def host() -> RunResult:
        signal.signal(signal.SIGINT, handle)  # as some notebooks do
        workflow = flow("w", sh("a", "sleep 900"))
        return LOCAL.run(workflow, options=RunOptions(home=tmp_path), on_event=hear)

    before = signal.getsignal(signal.SIGINT)
    try:
        assert asyncio.run(host()).status == "cancelled"
    finally:
        signal.signal(signal.SIGINT, before)


def test_signals_of_a_host_reach_it_after_the_run(tmp_path: Path) -> None:
    async def host() -> tuple[RunResult, bool]:
        heard = asyncio.Event()
        asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, heard.set)
        workflow = flow("w", sh("a", f"kill -USR1 {os.getpid()}"))
        result = LOCAL.run(workflow, options=RunOptions(home=tmp_path))
        async with asyncio.timeout(10):
            await heard.wait()
        return result, heard.is_set()

    result, is_heard = asyncio.run(host())
    assert (result.status, is_heard) == ("succeeded", True)


def test_step_does_not_start_when_the_run_was_cancelled_while_its_result_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = StepCache.take

    def take_slowly(*args: t.Any, **named: t.Any) -> Found:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(2)  # until the main thread has heard of it
        return take(*args, **named)

    monkeypatch.setattr(StepCache, "take", take_slowly)
    workflow = flow("w", sh("a", "true", cache=Cache()))
    result = LOCAL.run(workflow, options=RunOptions(home=tmp_path))
    assert (result.status, result.steps["a"].status) == ("cancelled", "omitted")


def test_process_does_not_start_when_the_run_was_cancelled_while_inputs_were_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = ObjectStore.fetch

    def fetched(store: ObjectStore, text: str, path: Path) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(2)  # until the main thread has heard of it
        fetch(store, text, path)

    monkeypatch.setattr(ObjectStore, "fetch", fetched)
    data = tmp_path / "data"
    data.write_text("x", encoding="utf-8")
    mark = tmp_path / "mark"
    step = sh("a", f"trap '' TERM; touch {mark}", inputs=[given("d", param("data"), "file")])
    workflow = flow("w", step, parameters=[parameter("data", type="file")])
    result = LOCAL.run(
        workflow, options=RunOptions(home=tmp_path / "home"), parameters={"data": str(data)}
    )
    assert result.status == "cancelled"
    assert result.steps["a"].message == "the run was cancelled"
    assert not mark.exists()
