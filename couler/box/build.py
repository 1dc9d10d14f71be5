"""Building a program that nobody trusts: through the gate, behind walls, and out as data."""

from __future__ import annotations

import functools
import json
import platform
import re
import signal
from dataclasses import dataclass, replace

from couler.backends.registry import backend_names
from couler.box import walls
from couler.box.answer import Answer, ForgedError, read_answer
from couler.box.child import program_name, start_build
from couler.box.ending import IS_LONG, OUT_OF_MEMORY, Ending
from couler.box.gate import check_program
from couler.box.limits import Limits
from couler.box.seccomp import MACHINES
from couler.errors import IsolationError
from couler.hidden import clean
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.ir.workflow import Workflow
from couler.stages.checks import sort_diagnostics
from couler.stages.overrides import check_overrides, find_overrides

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
