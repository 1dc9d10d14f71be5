"""Processes of this machine. The image is not used."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from couler.backends.local.companions import companion_steps
from couler.backends.local.runtimes import namespaces
from couler.backends.local.runtimes.base import CannotStartError, Job, Launch
from couler.backends.local.runtimes.paths import (
    absolute_paths,
    declared_paths,
    inside_work,
    make_volumes,
    refuse_paths,
)
from couler.ir.diagnostics import Diagnostic
from couler.ir.values import MAX_WORD_BYTES
from couler.ir.walk import scopes, skippable
from couler.ir.workflow import WORK_DIR, Container, Script, Step, Workflow

_Which: t.TypeAlias = Callable[..., str | None]

PROGRAM_CODE = "CLR363"
"""A program that this machine does not have."""

_HANDS_OVER = 'exec "$@"'

PYTHON = frozenset({"python", "python3"})
"""Programs that are the interpreter which runs the engine."""


@dataclass(frozen=True)
class HostRuntime:
    """Runs steps as processes of this machine, with the environment of the engine."""

    environ: Mapping[str, str]
    name: str = "process"

    @cached_property
    def no_view(self) -> str | None:
        """Why steps cannot have files of their own at absolute paths, None if they can."""
        return namespaces.probe()

    def check(self, workflow: Workflow) -> Iterator[Diagnostic]:
        """Yield a diagnostic for each path and program that this machine cannot give."""
        which = functools.cache(shutil.which)  # many steps run the same few programs
        not_needed = skippable(workflow)
        for scope in scopes(workflow):
            for step in scope.steps:
                if isinstance(step.action, Container | Script):
                    path = scope.path_of(step)
                    for one in (step, *companion_steps(step)):
                        yield from refuse_paths(one, path, self._refuse_absolute)
                        for problem in self._check_program(one, path, which):
                            is_needed = path not in not_needed
                            yield problem if is_needed else replace(problem, severity="warning")

    def is_bare(self, step: Step) -> bool:
        """Return whether a step has neither a script nor files at absolute paths."""
        return isinstance(step.action, Container) and not namespaces.needs_view(step)

    def prepare(self, job: Job) -> None:
        """Make the folders of an attempt."""
        if job.is_bare:
            return
        job.work.mkdir(exist_ok=True)
        if namespaces.needs_view(job.step):
            make_volumes(job)
            namespaces.prepare(job)

    def place(self, job: Job, path: str) -> Path:
        """Return where a declared path lies: in the work folder or, if absolute, beside it."""
        inner = inside_work(path)
        if inner is None:
            return namespaces.place(job, path)
        return job.work if inner == "." else job.work / inner

    def seen(self, job: Job, path: str) -> str:
        """Return a declared path as the process sees it."""
        inner = inside_work(path)
        return path if inner is None else str(self.place(job, inner))

    def launch(self, job: Job, words: Sequence[str], environ: Mapping[str, str]) -> Launch:
        """Return the process of an attempt."""
        self._make_directory(job)
        if job.step.inputs or job.step.outputs:
            words = tuple(self._moved(word, job) for word in words)
        action = job.action
        if isinstance(action, Script):
            script = job.folder / "script"
            script.write_bytes(action.source.encode())
            words = (*action.command, str(script))
        if words[0] in PYTHON:
            words = (sys.executable, *words[1:])
        whole = {**job.inherited, "COULER_WORK": str(job.work), **environ}
        if job.gpus:
            whole.setdefault("CUDA_VISIBLE_DEVICES", ",".join(job.gpus))
        wanted = job.step.working_dir
        directory = job.work if wanted is None else Path(self.seen(job, wanted))
        if not namespaces.needs_view(job.step):
            return Launch(tuple(words), whole, directory)
        return Launch(namespaces.wrap(job, words, directory), whole, job.work)

    def reason(self, job: Job, exit_code: int) -> str | None:
        """Return why the program of a step with files of its own did not start."""
        if exit_code != namespaces.CANNOT_START or not namespaces.needs_view(job.step):
            return None
        told = namespaces.refused(job)
        if told is None:
            return None
        if not told.isdecimal():
            return f"its files cannot be put at their paths: {told}"
        action = job.action
        word = action.command[0] if action.command else "its program"
        program = word if isinstance(word, str) else "its program"
        return explain_start(program, OSError(int(told), os.strerror(int(told))))

    def collect(self, job: Job) -> None:
        """Do nothing: what a process of this machine wrote is in its place."""

    def end(self, job: Job) -> None:
        """Do nothing: the end of the process group is the end of all that it started."""

    def end_orphans(self, run_id: str) -> int:
        """Do nothing: the engine finds processes of this machine by itself."""
        return 0

    def _make_directory(self, job: Job) -> None:
        wanted = job.step.working_dir
        if wanted is None:  # the work folder, which is there
            return
        if inside_work(wanted) is not None or namespaces.is_own(job, wanted):
            self.place(job, wanted).mkdir(parents=True, exist_ok=True)
        elif not Path(wanted).is_dir():
            raise CannotStartError(f"the working directory {wanted} does not exist here")

    def _moved(self, word: str, job: Job) -> str:
        """A word with the paths that the step declares below `WORK_DIR` where they are here."""
        for _, path in declared_paths(job.step):
            if path.startswith(f"{WORK_DIR}/") and inside_work(path) is not None:
                word = word.replace(path, self.seen(job, path))
        return word

    def _refuse_absolute(self, _path: str) -> str | None:
        if self.no_view is None:
            return None
        return (
            f"but a process of this machine has only the folder COULER_WORK ({self.no_view}). "
            "Make the path relative to it"
        )

    def _check_program(self, step: Step, path: str, which: _Which) -> Iterator[Diagnostic]:
        program = _literal_program(step)
        if program is None or self._finds(program, step, which):
            return
        yield Diagnostic(
            PROGRAM_CODE,
            f'step "{path}" runs "{program}", which this machine does not have. '
            "Install it, or run the workflow where its image is used",
            step=path,
            source=step.source,
        )

    def _finds(self, program: str, step: Step, which: _Which) -> bool:
        if program in PYTHON:
            return True
        if "/" in program:
            # Its folder may be the step's own, which is filled only later.
            if not program.startswith("/") or step.mounts or absolute_paths(step):
                return True
            return inside_work(program) is not None or which(program) is not None
        search = self.environ.get("PATH", os.defpath)
        for variable in step.env:
            if variable.name == "PATH":
                if not isinstance(variable.value, str):
                    return True
                search = variable.value
        if any(source.prefix in ("", "P", "PA", "PAT", "PATH") for source in step.env_from):
            return True  # one of the entries may be PATH
        return which(program, path=search) is not None


def explain_start(program: str, error: OSError | ValueError) -> str:
    """Return why a program of this machine could not be started, and how to mend it."""
    if isinstance(error, FileNotFoundError):
        return (
            f'there is no program "{program}" on this machine. Install it, or run the workflow '
            "where its image is used"
        )
    if isinstance(error, PermissionError):
        return f'"{program}" may not be run: {error.strerror}'
    return f'"{program}" cannot be started: {error}'


def explain_size(words: Sequence[str], environ: Mapping[str, str]) -> str:
    """Return why the system gives a process neither these arguments nor these variables."""
    texts = [(f"argument {index}", word) for index, word in enumerate(words)]
    texts += [(f'the variable "{name}"', f"{name}={value}") for name, value in environ.items()]
    sizes = [(len(text.encode(errors="surrogateescape")), what) for what, text in texts]
    largest, what = max(sizes, default=(0, ""))
    if largest > MAX_WORD_BYTES:
        return (
            f"{what} takes {largest:,} bytes, and a process takes at most {MAX_WORD_BYTES:,} in "
            "one argument or variable. Give it as a file"
        )
    total = sum(size + 1 for size, _ in sizes)
    return (
        f"its arguments and variables take {total:,} bytes together, which is more than this "
        "machine gives to a process. Give the large ones as files"
    )


def _literal_program(step: Step) -> str | None:
    action = step.action
    if isinstance(action, Script):
        return action.command[0]
    if not isinstance(action, Container):
        return None
    words = (*action.command, *action.args)
    if len(words) > 4 and words[:2] == ("sh", "-c") and str(words[2]).endswith(_HANDS_OVER):
        words = words[4:]  # the shell prepares what it then becomes
    return words[0] if words and isinstance(words[0], str) else None
