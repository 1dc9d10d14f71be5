"""Building an untrusted program: through the gate, in a process behind walls, and out as data."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import platform
import re
import selectors
import signal
import subprocess
import sys
import time
import typing as t
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path

from couler.backends import backend_names
from couler.box import walls
from couler.box.answer import Answer, ForgedError, read_answer
from couler.box.ending import IS_LONG, OUT_OF_MEMORY, UP, Ending
from couler.box.gate import check_program
from couler.box.limits import Limits
from couler.box.seccomp import MACHINES
from couler.errors import IsolationError
from couler.hidden import clean
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.ir.workflow import Workflow
from couler.stages.checks import check_overrides, find_overrides, sort_diagnostics

_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")
"""Of an object, as Python writes it."""

_REASONS = {
    signal.SIGSEGV: ", as by calls nested without an end",
    signal.SIGSYS: ": it made a call of the system by the numbers of another architecture, of "
    "which the filter lets none pass",
}
"""Of the ends by a signal that a program can come to. All other calls of the system that are
refused end nothing: they fail at the line that makes them."""

_MOST_PRINTED = 400
_PROBE = Limits(wall_s=60.0)
_SCHEMA_MODE = (
    "Programs of others are not built here. Ask for the workflow as data, from which nothing runs "
    "(mode schema)"
)


@dataclass(frozen=True, slots=True)
class Built:
    """What came of a program."""

    workflow: Workflow | None
    diagnostics: tuple[Diagnostic, ...]
    output: str = ""
    seconds: float = 0.0

    @property
    def is_sound(self) -> bool:
        """Whether there is a workflow without errors."""
        found = any(one.severity == "error" for one in self.diagnostics)
        return self.workflow is not None and not found


@dataclass(frozen=True, slots=True)
class Isolation:
    """Whether this system can shut a program in."""

    problem: str | None

    def require(self) -> None:
        """Raise an error where it cannot, such as before money is spent on a program."""
        if self.problem is not None:
            raise IsolationError(self.problem)


@functools.cache
def isolation() -> Isolation:
    """Return whether programs can be built here, by making the walls once around nothing."""
    missing = _missing()
    if missing is None:
        missing = start_build("", "workflow.py", _PROBE).refused
    return Isolation(None if missing is None else _problem(missing))


def _missing() -> str | None:
    """Return what the system lacks for certain, None if it must be tried."""
    if not walls.is_linux():
        return "only Linux has the namespaces and the filter of calls that it takes"
    if platform.machine() not in MACHINES:
        return f"no filter of calls is known for machines of {platform.machine()}"
    return None


def _problem(missing: str) -> str:
    hint = ""
    if "namespaces" in missing or "mount" in missing or "users" in missing:
        hint = (
            ". The system must let users make namespaces (sysctl user.max_user_namespaces, "
            "kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns; in a "
            "container, a seccomp profile that allows unshare and mount)"
        )
    return f"this system cannot shut a program in: {clean(missing)}{hint}. {_SCHEMA_MODE}"


def build_program(source: str, *, limits: Limits | None = None, file: str = "workflow.py") -> Built:
    """Check a program, and build its workflow in a process that can reach nothing."""
    refused = check_program(source, file=file)
    if refused:
        return Built(None, refused)
    return build_ungated(source, limits=limits, file=file)


def build_ungated(source: str, *, limits: Limits | None = None, file: str = "workflow.py") -> Built:
    """Build a program that has not passed the gate; see `build_program`."""
    limits = limits or Limits()
    missing = _missing()
    if missing is not None:
        raise IsolationError(_problem(missing))
    name = program_name(file)
    ending = start_build(source, name, limits)
    output = _steady(ending.printed.decode("utf-8", "replace"))
    start = SourceRef(file=file, line=1)
    if ending.refused is not None and ending.stopped is None:
        raise IsolationError(_problem(ending.refused))
    stopped = _why_ended(ending, limits)
    if stopped is not None:
        code, message = stopped
        found = _with_output(Diagnostic(code, message, source=start), output)
        return Built(None, (found,), output, ending.seconds)
    try:
        answer = _answer_of(ending, name, file)
        found_all = _verified(answer, output)
    except ForgedError as error:
        message = (
            f"the build gave a result that is no workflow: {error}. A program only calls what "
            "makes steps, and writes nothing itself"
        )
        forged = _with_output(Diagnostic("CLR624", message, source=start), output)
        return Built(None, (forged,), output, ending.seconds)
    return Built(answer.workflow, found_all, output, ending.seconds)


def _answer_of(ending: Ending, name: str, file: str) -> Answer:
    """Read what the judge told; the workflow is checked against the model once more."""
    if ending.judge != 0:
        raise ForgedError("it takes longer, or more memory, to verify than there is for a build")
    if not ending.result:
        raise ForgedError("there is nothing in it")
    told = json.loads(ending.result)
    if "forged" in told:
        raise ForgedError(told["forged"])
    return read_answer(ending.result, name, file)


def _verified(answer: Answer, output: str) -> tuple[Diagnostic, ...]:
    """What was found in the box, and what was found outside, where nobody could change it."""
    found = list(answer.diagnostics)
    failed = answer.failed
    if failed is not None:
        told = failed
        if answer.is_outside:
            told = replace(
                failed,
                code="CLR625",
                message=f"{failed.message}. A program is built without files, network, processes "
                "and environment: let a step do that",
            )
        found = [one for one in found if one != failed]
        found.append(_with_output(told, output))
    if answer.workflow is not None:
        found += answer.verified
        overrides = tuple(find_overrides(answer.workflow))
        if overrides:  # looking for what is installed takes time
            found += check_overrides(overrides, backend_names())
    return sort_diagnostics(replace(one, message=_steady(one.message)) for one in found)


def _steady(text: str) -> str:
    """Return a text of a build that is the same each time, and nothing that a terminal obeys."""
    return _ADDRESS.sub("at 0x...", clean(text))


def _why_ended(ending: Ending, limits: Limits) -> tuple[str, str] | None:
    """Return code and message of an end without a result, None if there is one."""
    if ending.stopped == "wall_s":
        return "CLR620", (
            f"the build was stopped after {limits.wall_s:g} s: it waits, or has a loop without an "
            "end. A program only makes steps; what takes time belongs into them"
        )
    if ending.stopped == "output_bytes":
        return "CLR622", f"the program printed more than {limits.output_bytes:,} bytes. Print less"
    if ending.result == IS_LONG:
        return "CLR622", (
            f"the workflow is longer than {limits.result_bytes:,} bytes of JSON. Make fewer steps, "
            "map one over a list, or let steps read large texts from files"
        )
    code = ending.code
    if code == -signal.SIGKILL and ending.cpu_s >= limits.cpu_s * 0.8:
        return "CLR620", (
            f"the build was stopped after {limits.cpu_s:g} s of processor time: it has a loop "
            "without an end, or computes what a step should"
        )
    if code == OUT_OF_MEMORY:
        return "CLR621", (
            f"the build needs more than {limits.memory_bytes >> 20:,} MiB of memory. Large lists "
            "and texts belong into steps"
        )
    if code is None or code < 0:
        why = ""
        if code is not None:
            number = signal.Signals(-code)
            why = f" by {number.name}{_REASONS.get(number, '')}"
        return "CLR623", f"the process of the build was ended{why}. A program only makes steps"
    if code != 0 or (not ending.result and ending.judge == 0):
        return "CLR623", f"the process of the build ended with {code}, and gave no workflow"
    return None


def _with_output(found: Diagnostic, output: str) -> Diagnostic:
    """Add to a diagnostic what the program printed."""
    text = output.strip()
    if not text:
        return found
    shown = json.dumps(text[:_MOST_PRINTED], ensure_ascii=False)
    more = " and more" if len(text) > _MOST_PRINTED else ""
    return replace(found, message=f"{found.message}. It printed {shown}{more}")


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
        process = stack.enter_context(_started(result.write_end, status.write_end))
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
def _started(*ends: int) -> t.Iterator[subprocess.Popen[bytes]]:
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
