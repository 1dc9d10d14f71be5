"""Running a workflow whose steps nobody trusts: in isolation on the local engine."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import typing as t
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from couler.box import walls
from couler.errors import IsolationError
from couler.hidden import clean
from couler.ir.serialize import write_json
from couler.ir.workflow import Workflow

_START = "from couler.box.run_inside import main; main()"
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ld.so.cache", "/etc/alternatives")
_LINKED = ("couler", "couler.ir", "couler.optimizers", "couler.backends")
_STATES = ("succeeded", "failed", "skipped", "omitted")
_MOST_TEXT = 2000


@dataclass(frozen=True, slots=True)
class RunLimits:
    """Bounds of one run, of all its processes or of each."""

    wall_s: float = 60.0
    cpu_s: int = 30
    memory_bytes: int = 4 << 30
    file_bytes: int = 64 << 20
    disk_bytes: int = 256 << 20
    processes: int = 256
    open_files: int = 256
    result_bytes: int = 1 << 20


@dataclass(frozen=True, slots=True)
class BoxedRun:
    """How a run in the box ended. What its steps gave is data that a stranger has written."""

    status: str | None
    outputs: Mapping[str, t.Any]
    states: Mapping[str, int]
    message: str | None = None


_RUN = TypeAdapter(BoxedRun)


@functools.cache
def running_problem() -> str | None:
    """Return why this system cannot isolate a run, or None if it can; kept for this process."""
    if not walls.is_linux():
        return "runs can be isolated on Linux only"
    try:
        _run({"workflow": None}, RunLimits())
    except IsolationError as error:
        return str(error)
    return None


def run_boxed(
    workflow: Workflow,
    parameters: Mapping[str, t.Any] | None = None,
    limits: RunLimits | None = None,
) -> BoxedRun:
    """Run a workflow on the local engine, isolated with every process that it starts."""
    tree = json.loads(write_json(workflow))
    return _run({"workflow": tree, "parameters": dict(parameters or {})}, limits or RunLimits())


def _run(asked: dict[str, t.Any], limits: RunLimits) -> BoxedRun:
    with contextlib.ExitStack() as stack:
        result = stack.enter_context(tempfile.TemporaryFile())
        spec = {
            **asked,
            "shown": _shown(),
            "result": result.fileno(),
            "limits": asdict(limits),
        }
        problem = _started(json.dumps(spec).encode(), result.fileno(), limits)
        result.seek(0)
        return _read(result.read(limits.result_bytes + 1), limits, problem)


def _started(spec: bytes, result: int, limits: RunLimits) -> str | None:
    """Run to the end, or to the end of its time; return why there may be no result."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-W", "ignore", "-c", _START],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={},
        cwd="/",
        pass_fds=(result,),
        start_new_session=True,
    )
    try:
        _, told = process.communicate(spec, timeout=limits.wall_s)
    except subprocess.TimeoutExpired:
        return f"the run was stopped after {limits.wall_s:g} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    text = told[-_MOST_TEXT:].decode("utf-8", "replace").strip()
    return clean(text.splitlines()[-1]) if text else None


def _read(text: bytes, limits: RunLimits, problem: str | None) -> BoxedRun:
    if not text.startswith(b"{"):
        if problem is not None and problem.startswith("the run was stopped"):
            return BoxedRun(None, {}, {}, problem)
        missing = problem or "the process did not start"
        raise IsolationError(f"this system cannot isolate a run: {missing}")
    lines = text.splitlines()
    if len(lines) < 2 or len(text) > limits.result_bytes:
        return BoxedRun(None, {}, {}, problem or "the run told nothing of its end, or too much")
    try:
        ran = _RUN.validate_json(lines[1])
    except ValidationError:
        return BoxedRun(None, {}, {}, "what the run told of its end cannot be read")
    counts = {name: ran.states[name] for name in _STATES if name in ran.states}
    message = None if ran.message is None else clean(ran.message)[:_MOST_TEXT]
    return replace(ran, states=counts, message=message)


@functools.cache
def _shown() -> tuple[str, ...]:
    """Return what of the machine is shown: the system, Python, and Couler with what it needs."""
    paths = sysconfig.get_paths()
    found = {sys.prefix, sys.base_prefix, os.path.realpath(sys.base_prefix)}
    found |= {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found |= {str(Path(sys.executable).parent), str(Path(os.path.realpath(sys.executable)).parent)}
    for name in _LINKED:
        for folder in import_module(name).__path__:
            found |= {folder, os.path.realpath(folder)}
    existing = sorted(path for path in {*_SYSTEM, *found} if os.path.lexists(path))
    return tuple(existing)
