"""One attempt of a container or script step: files in, a process, values and files out."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from couler.backends.local.demand import Grant
from couler.backends.local.ends import Attempt, Bound, cut_off, failure_kind
from couler.backends.local.limits import Limits
from couler.backends.local.masking import streams_to
from couler.backends.local.place import CODE, Place, entry_texts
from couler.backends.local.pods import CompanionError, Pod
from couler.backends.local.process import (
    LostOutputError,
    LostProcessError,
    ProcessEnd,
    Usage,
    run_process,
)
from couler.backends.local.runtimes.base import CannotStartError, Job, runtime_call
from couler.backends.local.runtimes.host import explain_size, explain_start
from couler.backends.local.runtimes.paths import mounted
from couler.backends.local.threads import in_thread
from couler.errors import ArtifactError, EngineError, EvaluationError
from couler.ir.grouped import GROUPED
from couler.ir.semantics.outputs import KEEP_BYTES, default_of, read_output
from couler.ir.semantics.values import VALUE_ERRORS, Outputs, Single, Stored, to_text
from couler.ir.values import is_file
from couler.ir.wording import counted
from couler.ir.workflow import STDOUT, Output, Script
from couler.locations.stop import CutOffError
from couler.locations.transfer import OUTSIDE_ERRORS


def works_of(bound: Bound, work: Path) -> list[Path]:
    """Return the work folders of an attempt: its own, and those of the steps inside."""
    if bound.step.origin != GROUPED:
        return [work]
    return [work, *sorted(work.glob("steps/*/work"))]


async def tell_inside(attempt: Attempt, bound: Bound, place: Place, number: int) -> Attempt:
    """Return an attempt with how the steps inside ended, which its message names if some failed."""
    if bound.step.origin != GROUPED:
        return attempt
    from couler.state.inside import read_inside, unknown_ends

    report = await asyncio.to_thread(read_inside, place.log(bound.path), number)
    inside = report.ends
    if report.problem is not None:  # what is not known of them has the state of the group
        return replace(attempt, message=unknown_ends(report.problem, attempt.message))
    failed = [one for one in inside if one.state == "failed"]
    if not failed or attempt.kind != "failure" or attempt.exit_code is None:
        return replace(attempt, inside=inside)
    first, others = failed[0], len(failed) - 1
    more = f", and {counted(others, 'other step')} of it failed" if others else ""
    told = f"its step {first.name} failed: {first.message}{more}"
    return replace(attempt, inside=inside, message=told)


VALUES = (*VALUE_ERRORS, ArtifactError)


@dataclass(frozen=True, slots=True)
class Start:
    """What an attempt is told and tells when its process starts."""

    number: int
    grant: Grant
    limits: Limits
    ready: Callable[[], t.Awaitable[None]]
    """Awaited before the process starts: all that is recorded is on disk then."""
    spawned: Callable[[int], None]
    """Told the number of the step's process."""
    other_spawned: Callable[[int], None]
    """Told those of the other containers of its pod."""
    locks: Callable[[], tuple[int, ...]]
    """Open files of the locks of the run, which its processes keep."""


async def attempt_process(bound: Bound, place: Place, start: Start) -> Attempt:
    """Run the process of a step once and keep its outputs."""
    runtime = place.runtime
    try:
        bound = await _fetch(bound, place, start.limits)
        job = await place.job(bound, start.number, start.grant.gpus)
        await runtime_call(runtime, runtime.prepare, job)
        environ = await _prepare(bound, place, job)
    except CutOffError:
        return cut_off(start.limits)
    except CannotStartError as error:
        return Attempt(False, message=str(error))
    except _OutsideError as error:
        return Attempt(False, message=str(error), kind="error")
    except VALUES as error:
        return Attempt(False, message=str(error))
    except OSError as error:
        told = f"its folder and inputs cannot be put in place: {error}"
        return Attempt(False, message=told, kind="error")
    await start.ready()
    try:
        attempt = await _attempt_pod(job, bound, environ, place, start)
    finally:
        await runtime_call(runtime, runtime.end, job)
    attempt = await tell_inside(attempt, bound, place, start.number)
    if attempt.succeeded and not _remove_empty(job):
        await asyncio.to_thread(shutil.rmtree, job.folder, ignore_errors=True)
    return replace(attempt, files=bound.files) if bound.files else attempt


class _OutsideError(Exception):
    """A file outside of the workflow cannot be had, or not be put there; another try may help."""


async def _fetch(bound: Bound, place: Place, limits: Limits) -> Bound:
    """Return a step with what its inputs take from outside of the workflow."""
    if not bound.sources:
        return bound
    files = bound.files
    if not files:
        try:
            files = await in_thread(
                partial(place.exchange.fetch_all, bound.step, bound.sources), limits
            )
        except OUTSIDE_ERRORS as error:
            raise _OutsideError(str(error)) from error
    came = {name: one.file for name, one in files.items() if one.file is not None}
    return replace(bound, inputs={**bound.inputs, **came}, files=files)


async def _attempt_pod(
    job: Job, bound: Bound, environ: Mapping[str, str], place: Place, start: Start
) -> Attempt:
    """Run the process of a step with the other containers of its pod, if it has any."""
    if not bound.companions:
        return await _attempt(job, bound, environ, place, start)
    os.close(place.open_log(bound.path, start.number))  # its head stands before all that they write
    start = replace(start, number=1)
    pod = Pod(bound, job, place, start.limits, start.other_spawned, start.locks)
    try:
        await pod.run_before()
        async with pod.sidecars():
            attempt = await _attempt(job, bound, environ, place, start)
            if not attempt.succeeded:  # it tells more than what its end does to the others
                raise CompanionError(attempt)
    except CompanionError as error:
        return error.attempt
    return attempt


async def _attempt(
    job: Job, bound: Bound, environ: Mapping[str, str], place: Place, start: Start
) -> Attempt:
    """Run the process and keep what it gave; all that the runtime has of it is still there."""
    runtime = place.runtime
    try:
        end, stdout = await _run(job, bound, environ, place, start)
    except CannotStartError as error:
        return Attempt(False, message=str(error), kind="error")
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno == errno.E2BIG:
            return Attempt(False, message=explain_size(bound.words, environ), kind="error")
        program = bound.words[0] if bound.words else job.action.command[0]
        return Attempt(False, message=explain_start(str(program), error), kind="error")
    except LostProcessError as error:
        return Attempt(False, message=str(error), kind="error")
    except LostOutputError as error:
        return Attempt(False, message=f"its output cannot be written: {error}", kind="error")
    if runtime.name == "process" and (end.reason is not None or end.exit_code != 0):
        # What left its session would be in the way of another attempt.
        await place.sweeper.end(works_of(bound, job.work))
    told = (
        await runtime_call(runtime, runtime.reason, job, end.exit_code)
        if end.reason is None
        else None
    )
    if told is not None:
        return Attempt(False, {}, told, None, "error", end.usage)
    failed = _failure(end)
    if failed is not None:
        return failed
    try:
        await runtime_call(runtime, runtime.collect, job)
        outputs = await _keep_outputs(bound, place, job, stdout)
        await _put_outside(bound, place, job, start.limits)
    except CutOffError:
        return replace(cut_off(start.limits), usage=end.usage)
    except _OutsideError as error:
        return Attempt(False, {}, str(error), 0, "error", end.usage)
    except (*VALUES, EngineError) as error:
        return Attempt(False, {}, str(error), 0, "error", end.usage)
    except OSError as error:
        told = f"its outputs cannot be kept: {error}"
        return Attempt(False, {}, told, 0, "error", end.usage)
    return Attempt(True, outputs, None, 0, None, end.usage)


async def _prepare(bound: Bound, place: Place, job: Job) -> dict[str, str]:
    """Put the inputs in place and return the environment that the step declares."""
    step, runtime = bound.step, place.runtime
    environ = {"COULER_WORK": runtime.seen(job, ".")}
    for given in step.inputs:
        stored = bound.inputs.get(given.name)
        if stored is None:  # it is optional, and not there
            path = given.path or f"inputs/{given.name}"
            environ[f"COULER_INPUT_{given.name}"] = runtime.seen(job, path)
            continue
        # Not as an argument would show it: text that is declared `json` has its quotes here.
        text = stored.text if isinstance(stored, Single) else to_text(stored)
        if is_file(given.type):
            path = given.path or f"inputs/{given.name}"
            at = runtime.place(job, path)
            await asyncio.to_thread(_put_files, stored, place, at)
            if given.mode is not None:
                await asyncio.to_thread(_set_mode, at, given.mode, inside=given.recurse_mode)
            text = runtime.seen(job, path)
        environ[f"COULER_INPUT_{given.name}"] = text
    for source in step.env_from:
        environ.update(place.entries.all_of(source))
    environ.update({**bound.texts, **entry_texts(step.env, place.entries)})
    if isinstance(step.action, Script) and step.action.files:
        await asyncio.to_thread(shutil.copytree, place.folder / CODE, runtime.place(job, CODE))
        around = environ.get("PYTHONPATH", job.inherited.get("PYTHONPATH"))
        environ["PYTHONPATH"] = ":".join(filter(None, (runtime.seen(job, CODE), around)))
    return environ


def _put_files(stored: Stored, place: Place, path: Path) -> None:
    if isinstance(stored, Single):
        place.store.fetch(stored.text, path)
        return
    path.mkdir(parents=True, exist_ok=True)
    for index, item in enumerate(stored.items):
        if item is not None:
            place.store.fetch(item.text, path / str(index))


def _set_mode(path: Path, mode: int, *, inside: bool) -> None:
    if inside and path.is_dir():
        for folder, folders, files in os.walk(path, topdown=False):
            for name in (*folders, *files):
                one = Path(folder, name)
                if not one.is_symlink():
                    one.chmod(mode)
    path.chmod(mode)


async def _put_outside(bound: Bound, place: Place, job: Job, limits: Limits) -> None:
    """Put outputs where the step keeps them outside of the workflow."""
    for output in bound.outputs:
        target = bound.targets.get(output.name)
        source = None if target is None else place.runtime.place(job, output.path or "")
        if target is None or source is None or not source.exists():
            continue
        root = _root_of(output, source, job)
        put = partial(place.exchange.put, source, root, target, output.archive)
        try:
            await in_thread(put, limits)
        except OUTSIDE_ERRORS as error:
            raise _OutsideError(f'the output "{output.name}": {error}') from error


async def _keep_outputs(bound: Bound, place: Place, job: Job, stdout: bytes) -> Outputs:
    """Read and store what a process gave."""
    if not bound.outputs:
        return {}
    if any(is_file(output.type) for output in bound.outputs):
        return await asyncio.to_thread(_keep_all, bound, place, job, stdout)
    return _keep_all(bound, place, job, stdout)


def _keep_all(bound: Bound, place: Place, job: Job, stdout: bytes) -> Outputs:
    found = {output.name: _keep(output, place, job, stdout) for output in bound.outputs}
    return {name: single for name, single in found.items() if single is not None}


def _keep(output: Output, place: Place, job: Job, stdout: bytes) -> Single | None:
    """Return an output; None for an optional one that is not there."""
    if output.path is None:
        return read_output(stdout, output, what="standard output", cut_newline=True)
    source = place.runtime.place(job, output.path)
    is_there = source.is_dir() if output.type == "directory" else source.is_file()
    if not is_there:
        if output.default is not None:
            return default_of(output)
        if output.optional and not source.exists():
            return None
        kind = "directory" if output.type == "directory" else "file"
        raise EvaluationError(
            f'the output "{output.name}": the process did not write the {kind} {output.path}'
        )
    root = _root_of(output, source, job)
    if is_file(output.type):
        return Single(place.store.put(source, root=root), output.type)
    with source.open("rb") as file:
        content = file.read(KEEP_BYTES + 1)
    return read_output(content, output, what=output.path, cut_newline=True)


def _root_of(output: Output, source: Path, job: Job) -> Path:
    """Return the folder of the step that an output lies in, all links followed."""
    real = os.path.realpath(source)
    for root in (job.folder, *(one.source for one in mounted(job))):
        if Path(real).is_relative_to(os.path.realpath(root)):
            return root
    raise EvaluationError(
        f'the output "{output.name}": {output.path} is a link, or lies behind one, that '
        "leads out of the folders of the step. Copy what it leads to"
    )


async def _run(
    job: Job, bound: Bound, environ: Mapping[str, str], place: Place, start: Start
) -> tuple[ProcessEnd, bytes]:
    stdout = bytearray()
    is_read = any(output.name == STDOUT and output.path is None for output in bound.outputs)
    log = place.open_log(bound.path, start.number)
    try:
        launch = await runtime_call(place.runtime, place.runtime.launch, job, bound.words, environ)
        if start.limits.reached is not None:  # while the inputs were put in place
            return ProcessEnd(start.limits.reached, 0, Usage(0.0, None)), b""
        streams, flush = streams_to(log, stdout if is_read else None, place.secrets)
        end = await run_process(
            launch.words,
            environ=launch.environ,
            directory=launch.directory,
            streams=streams,
            limits=start.limits,
            on_start=start.spawned,
            inherits=start.locks(),
        )
        flush()
    finally:
        os.close(log)
    return end, bytes(stdout)


def _failure(end: ProcessEnd) -> Attempt | None:
    if end.reason is not None:
        return Attempt(False, {}, end.reason, None, failure_kind(end.reason), end.usage)
    if end.exit_code != 0:
        told = f"it ended with exit code {end.exit_code}"
        return Attempt(False, {}, told, end.exit_code, "failure", end.usage)
    return None


def _remove_empty(job: Job) -> bool:
    """Remove the folder of an attempt if nothing is in it, and tell whether that is so."""
    try:
        os.rmdir(job.work)
        if not job.is_bare:
            os.rmdir(job.folder)
    except OSError:
        return False
    return True
