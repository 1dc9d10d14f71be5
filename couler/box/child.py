"""Starting the process that a program is built in, and keeping it within its bounds."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
import typing as t
from importlib.util import find_spec
from pathlib import Path

from couler.box.ending import UP, Ending
from couler.box.limits import Limits

_START = """\
import gc, json, os, sys
gc.disable()  # until all is loaded, of which nothing is garbage
sys.path[:] = [os.path.realpath(one) for one in sys.path] + json.loads(sys.argv[1])
from couler.box.inside import main
main()
"""
_NEEDED = (
    *("couler", "pydantic", "pydantic_core", "annotated_types"),
    *("typing_extensions", "typing_inspection", "cronsim", "yaml"),
)
"""What building imports beside Python's own modules."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,80}\.py")
_CHUNK = 1 << 16


def program_name(file: str) -> str:
    """The name that a program has in the box: that of its file, where that is a plain one."""
    name = Path(file).name
    return name if _NAME.fullmatch(name) else "workflow.py"


def start_build(source: str, name: str, limits: Limits) -> Ending:
    """Build a program behind walls, and return how that ended."""
    began = time.monotonic()
    with contextlib.ExitStack() as stack:
        read = [stack.enter_context(_Pipe()) for _ in range(2)]
        result, status = read
        spec = {
            "source": source,
            "name": name,
            "result": result.write_end,
            "status": status.write_end,
            "limits": _bounds(limits),
            "result_bytes": limits.result_bytes,
        }
        process = stack.enter_context(_started(spec, result.write_end, status.write_end))
        for pipe in read:
            pipe.close_write_end()
        text = json.dumps(spec).encode()
        reader = _Reader(process, result.read_end, status.read_end, limits)
        reader.run(text, began + limits.wall_s)
        return reader.ending(time.monotonic() - began)


def _bounds(limits: Limits) -> dict[str, int]:
    """Return the limits that the kernel keeps, by its names."""
    return {
        "AS": limits.memory_bytes,
        "CPU": max(1, -int(-limits.cpu_s // 1)),
        "CORE": 0,
        "FSIZE": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "NOFILE": limits.open_files,
        "NPROC": 0,
    }


class _Pipe:
    """A pipe whose ends are closed at the latest when its block ends."""

    def __enter__(self) -> _Pipe:
        self.read_end, self.write_end = os.pipe()
        self._open = {self.read_end, self.write_end}
        return self

    def __exit__(self, *error: object) -> None:
        for end in self._open:
            os.close(end)

    def close_write_end(self) -> None:
        self._open.discard(self.write_end)
        os.close(self.write_end)


@contextlib.contextmanager
def _started(spec: dict[str, t.Any], *ends: int) -> t.Iterator[subprocess.Popen[bytes]]:
    """Start the process, and kill it with all that it started when the block ends."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-X", "utf8", "-W", "ignore", "-c", _START, _search_path()],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={},
        cwd="/",
        pass_fds=ends,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _search_path() -> str:
    """Return the folders that Couler and what it needs are installed in, without links."""
    found: dict[str, None] = {}
    for name in _NEEDED:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            continue
        origin = Path(spec.origin)
        folder = origin.parent.parent if origin.name == "__init__.py" else origin.parent
        found[os.path.realpath(folder)] = None
    return json.dumps(list(found))


class _Reader:
    """Reads what a build gives on its three pipes, until its end or a bound."""

    def __init__(
        self, process: subprocess.Popen[bytes], result: int, status: int, limits: Limits
    ) -> None:
        assert process.stdin is not None  # both are pipes
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin.fileno()
        self._close_input = process.stdin.close
        self._names = {result: "result", status: "status", process.stdout.fileno(): "printed"}
        self._read = {name: bytearray() for name in self._names.values()}
        self._most = {
            "result": 2 * limits.result_bytes + _CHUNK,  # with what verifying found
            "printed": limits.output_bytes,
            "status": _CHUNK,
        }
        self._stopped: str | None = None

    def run(self, text: bytes, deadline: float) -> None:
        """Give the process its input, and read until all pipes are closed."""
        with selectors.DefaultSelector() as selector:
            for end in self._names:
                selector.register(end, selectors.EVENT_READ)
            os.set_blocking(self._input, False)
            selector.register(self._input, selectors.EVENT_WRITE)
            waiting = memoryview(text)
            while selector.get_map() and self._stopped is None:
                left = deadline - time.monotonic()
                if left <= 0:
                    self._stopped = "wall_s"
                    return
                for key, _ in selector.select(left):
                    if key.fd == self._input:
                        waiting = self._give(waiting, selector)
                    elif not self._take(key.fd):
                        selector.unregister(key.fd)

    def _give(self, waiting: memoryview, selector: selectors.BaseSelector) -> memoryview:
        try:
            waiting = waiting[os.write(self._input, waiting) :]
        except BrokenPipeError:  # it ended early, and the other pipes say why
            waiting = waiting[len(waiting) :]
        if not waiting:
            selector.unregister(self._input)
            with contextlib.suppress(BrokenPipeError):
                self._close_input()
        return waiting

    def _take(self, end: int) -> bool:
        """Read what has come; return False at the end of the pipe."""
        name = self._names[end]
        chunk = os.read(end, _CHUNK)
        held, most = self._read[name], self._most[name]
        held += chunk[: most - len(held)]
        if len(chunk) and len(held) >= most:
            self._stopped = "output_bytes"
        return bool(chunk)

    def ending(self, seconds: float) -> Ending:
        """Return how it ended, by what was read."""
        told = bytes(self._read["status"])
        rest = told.partition(UP)[2]
        refused = None
        if UP not in told:
            said = _last_line(self._read["printed"])
            refused = _last_line(told) or said or "it did not start"
        code, judge, cpu_s = None, None, 0.0
        if refused is None and rest.strip():
            end = json.loads(rest)
            code, judge, cpu_s = end["code"], end["judge"], end["cpu_s"]
        stopped = t.cast(t.Any, self._stopped)
        result, printed = bytes(self._read["result"]), bytes(self._read["printed"])
        return Ending(refused, result, printed, code, judge, cpu_s, stopped, seconds)


def _last_line(text: bytes | bytearray) -> str:
    lines = bytes(text).decode("utf-8", "replace").strip().splitlines()
    return lines[-1] if lines else ""
