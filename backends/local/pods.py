"""Running the other containers of a step's pod: those before it to their ends, others beside it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from couler.backends.local.companions import Companion
from couler.backends.local.ends import Attempt, Bound, failure_kind
from couler.backends.local.limits import Limits
from couler.backends.local.masking import Masker, write_all
from couler.backends.local.place import Place, entry_texts
from couler.backends.local.process import (
    LostOutputError,
    LostProcessError,
    ProcessEnd,
    Streams,
    run_process,
)
from couler.backends.local.runtimes.base import CannotStartError, Job, runtime_call
from couler.backends.local.runtimes.host import explain_start
from couler.errors import EvaluationError

STEP_ENDED = "the step that it was beside has ended"

_ENDED_FROM_OUTSIDE = (137, 143)
"""Exit codes of what was killed or asked to end, as a sidecar is."""

_LONGEST_LINE = 64 * 1024
"""Of the output of a container, in bytes."""


class CompanionError(Exception):
    """Another container of the pod failed, which is the end of the attempt; `attempt` tells."""

    def __init__(self, attempt: Attempt) -> None:
        super().__init__(attempt.message)
        self.attempt = attempt


@dataclass(frozen=True, slots=True)
class Pod:
    """One attempt of a step that has other containers."""

    bound: Bound
    job: Job
    place: Place
    limits: Limits
    spawned: Callable[[int], None]
    locks: Callable[[], tuple[int, ...]]

    async def run_before(self) -> None:
        """Run the containers that come before the step, one after another."""
        for companion in self.bound.companions:
            if companion.is_beside:
                continue
            end = await self._run(companion, self.limits, self.spawned)
            if end.reason is not None:
                kind = failure_kind(end.reason)
                raise CompanionError(Attempt(False, {}, end.reason, None, kind, end.usage))
            if end.exit_code != 0:
                raise _ended(f'its init container "{companion.name}"', end)

    @asynccontextmanager
    async def sidecars(self) -> AsyncIterator[None]:
        """Run the containers beside the step while a block runs, and end them then."""
        found = [one for one in self.bound.companions if one.is_beside]
        with self.limits.within(None) as limits:
            tasks: list[asyncio.Task[ProcessEnd]] = []
            try:
                for companion in found:
                    started = await self._start(companion, limits)
                    tasks.append(started)  # at once: the next may not start
                yield
            finally:
                limits.end(STEP_ENDED)
                ends = await asyncio.gather(*tasks, return_exceptions=True)
                await self._end_leftovers(found)
        for companion, end in zip(found, ends, strict=True):
            if isinstance(end, BaseException):
                raise end
            if end.exit_code not in (0, *_ENDED_FROM_OUTSIDE):
                raise _ended(f'its sidecar "{companion.name}"', end)

    async def _start(self, companion: Companion, limits: Limits) -> asyncio.Task[ProcessEnd]:
        """Return what runs a container, once its process has started."""
        started = asyncio.Event()

        def on_start(pid: int) -> None:
            self.spawned(pid)
            started.set()

        running = asyncio.create_task(self._run(companion, limits, on_start))
        waiting = asyncio.create_task(started.wait())
        await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if running.done() and running.exception() is not None:
            await running
        return running

    async def _run(
        self, companion: Companion, limits: Limits, on_start: Callable[[int], None]
    ) -> ProcessEnd:
        runtime, job = self.place.runtime, self._job_of(companion)
        what = f'its container "{companion.name}"'
        log = self.place.open_log(self.bound.path, 1)
        lines = _Lines(log, companion.name, self.place.secrets)
        try:
            job.folder.mkdir(parents=True, exist_ok=True)
            await runtime_call(runtime, runtime.prepare, job)
            launch = await runtime_call(
                runtime, runtime.launch, job, companion.words, self._environ(companion, job)
            )
            end = await run_process(
                launch.words,
                environ=launch.environ,
                directory=launch.directory,
                streams=Streams(None, lines.write, lines.write),
                limits=limits,
                on_start=on_start,
                inherits=self.locks(),
            )
            told = (
                await runtime_call(runtime, runtime.reason, job, end.exit_code)
                if end.reason is None
                else None
            )
            if told is not None:
                raise _error(what, told)
            return end
        except (CannotStartError, EvaluationError, LostOutputError, LostProcessError) as error:
            raise _error(what, str(error)) from error
        except (OSError, ValueError) as error:
            program = companion.words[0] if companion.words else companion.name
            raise _error(what, explain_start(program, error)) from error
        finally:
            lines.flush()
            os.close(log)
            await runtime_call(runtime, runtime.end, job)

    def _job_of(self, companion: Companion) -> Job:
        folder = self.job.folder / "containers" / companion.name
        asked = companion.step.resources
        return replace(
            self.job,
            name=f"{self.job.name}-{companion.name}",
            step=companion.step,
            folder=folder,
            gpus=self.job.gpus if asked is not None and asked.gpu is not None else (),
            is_bare=False,
            shared=self.job.folder,
            mirrored=self.job.work if companion.mirrors else None,
        )

    def _environ(self, companion: Companion, job: Job) -> dict[str, str]:
        environ = {"COULER_WORK": self.place.runtime.seen(job, ".")}
        for source in companion.step.env_from:
            environ.update(self.place.entries.all_of(source))
        environ.update(companion.texts)
        environ.update(entry_texts(companion.step.env, self.place.entries))
        return environ

    async def _end_leftovers(self, found: list[Companion]) -> None:
        """End what has left the sessions of containers, which would live on with the run."""
        if self.place.runtime.name != "process":
            return
        await self.place.sweeper.end(self._job_of(companion).work for companion in found)


def _ended(what: str, end: ProcessEnd) -> CompanionError:
    told = f"{what} ended with exit code {end.exit_code}"
    return CompanionError(Attempt(False, {}, told, None, "failure", end.usage))


def _error(what: str, told: str) -> CompanionError:
    return CompanionError(Attempt(False, {}, f"{what}: {told}", None, "error"))


class _Lines:
    """Writes the output of a container into the log of its step, each line under its name."""

    def __init__(self, log: int, name: str, secrets: tuple[str, ...]) -> None:
        self._log = log
        self._prefix = f"{name} | ".encode()
        self._masker = Masker(secrets)
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, chunk: bytes) -> None:
        """Take in output; a line is written when it has ended."""
        write_all(self._log, b"".join(self._ended(self._masker.feed(chunk))))

    def flush(self) -> None:
        """Write what has not ended in a line."""
        lines = [*self._ended(self._masker.flush())]
        if self._size:
            lines.append(self._line())
        write_all(self._log, b"".join(lines))

    def _ended(self, text: bytes) -> Iterator[bytes]:
        """Yield the lines that end in a text, and hold the rest."""
        *ended, rest = text.split(b"\n")
        for line in ended:
            yield from self._hold(line)
            yield self._line()
        yield from self._hold(rest)

    def _hold(self, piece: bytes) -> Iterator[bytes]:
        """Add to the line, and yield what of it would be too long."""
        while self._size + len(piece) > _LONGEST_LINE:
            room = _LONGEST_LINE - self._size
            self._pieces.append(piece[:room])
            piece = piece[room:]
            yield self._line()
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)

    def _line(self) -> bytes:
        """Return the line that is held, and begin another."""
        line = b"".join((self._prefix, *self._pieces, b"\n"))
        self._pieces, self._size = [], 0
        return line
