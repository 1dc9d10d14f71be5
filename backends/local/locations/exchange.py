"""What a run exchanges with places outside of it."""

from __future__ import annotations

import asyncio
import shutil
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from couler.backends.local.limits import Limits
from couler.backends.local.process import LostProcessError, ProcessEnd, Streams, run_process
from couler.backends.local.threads import run_coroutine
from couler.errors import ArtifactError, EvaluationError
from couler.ir.artifacts import Archive, Location
from couler.ir.semantics.status import CANCELLED
from couler.ir.semantics.values import Single, View, resolve_text
from couler.ir.values import TEXTS
from couler.ir.workflow import Input, Output, Step
from couler.locations.git import CommandEnd
from couler.locations.secrets import Entries
from couler.locations.stop import Stop
from couler.locations.transfer import Transfer, name_of, require_type, text_problems
from couler.store import ObjectStore, content_of


class Fetched(t.NamedTuple):
    """What came from a location."""

    file: Single | None
    """Its reference in the store; None for an optional file that is not there."""
    content: str
    """What stands for it in keys."""


Files: t.TypeAlias = Mapping[str, Fetched]
"""What has come, by the names of inputs."""

NOTHING = Fetched(None, "")

SCRATCH = "exchange"
"""Folder of a run for files on their way, credentials among them."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """Fetches files from locations and puts files there."""

    store: ObjectStore
    repository: str
    entries: Entries
    scratch: Path
    environ: Mapping[str, str]

    def fetch(self, given: Input, location: Location, stop: Stop) -> Fetched:
        """Put what an input takes from outside into the store."""
        with self._transfer.folder() as folder:
            target = folder / name_of(location)
            try:
                version = self._transfer.fetch(location, target, given.archive, stop)
            except FileNotFoundError as error:
                if given.optional:
                    return NOTHING
                raise ArtifactError(f'the input "{given.name}": {error}') from error
            require_type(target, given.type, f'the input "{given.name}"')
            reference = self.store.put(target)
        content = content_of(reference) if version is None else version
        return Fetched(Single(reference, given.type), content)

    def fetch_all(self, step: Step, sources: Mapping[str, Location], stop: Stop) -> Files:
        """Fetch what the inputs of a step take from outside; the errors are those of `fetch`."""
        return {
            given.name: self.fetch(given, sources[given.name], stop)
            for given in step.inputs
            if given.name in sources
        }

    def put(
        self,
        source: Path,
        root: Path,
        location: Location,
        archive: Archive | None,
        stop: Stop,
    ) -> None:
        """Put a file or a directory at a location; parameters and errors as `Transfer.put`."""
        self._transfer.put(source, root, location, archive, stop)

    def names(self, location: Location, pattern: str | None) -> tuple[str, ...]:
        """Return the keys of the files below a location, in order; as `Transfer.names`."""
        return self._transfer.names(location, pattern)

    def put_again(
        self,
        outputs: Mapping[str, t.Any],
        declared: tuple[Output, ...],
        targets: Locations,
        stop: Stop,
    ) -> None:
        """Put outputs of the store where a step would have put them; errors as `put`."""
        for output in declared:
            stored = outputs.get(output.name)
            if output.name not in targets or not isinstance(stored, Single):
                continue
            with self._transfer.folder() as folder:
                source = folder / Path(output.path or output.name).name
                self.store.fetch(stored.text, source)
                self.put(source, folder, targets[output.name], output.archive, stop)

    @property
    def _transfer(self) -> Transfer:
        return Transfer(self.repository, self.entries, self.scratch, self.environ, run_command)


def clear_scratch(folder: Path) -> None:
    """Remove what an engine that was killed has left on its way, in the folder of its run."""
    shutil.rmtree(folder / SCRATCH, ignore_errors=True)


Locations: t.TypeAlias = Mapping[str, Location]
"""Locations whose texts are known, by the names of inputs or outputs."""


def has_sources(step: Step) -> bool:
    """Return whether a step takes files from outside of the workflow."""
    return any(given.at is not None for given in step.inputs)


def has_targets(step: Step) -> bool:
    """Return whether a step puts files outside of the workflow."""
    return any(output.at is not None for output in step.outputs)


def bind_sources(step: Step, view: View) -> Locations:
    """Return where the inputs of a step are, outside of the workflow."""
    return {
        given.name: bind_location(given.at, view) for given in step.inputs if given.at is not None
    }


def bind_targets(step: Step, view: View) -> Locations:
    """Return where the outputs of a step are put; the errors are those of `bind_sources`."""
    return {
        output.name: bind_location(output.at, view)
        for output in step.outputs
        if output.at is not None
    }


def bind_location(location: Location, view: View) -> Location:
    """Return a location with its texts known; the errors are those of `bind_sources`."""
    bound = TEXTS.map(location, lambda name, text: resolve_text(text, view))
    # What came from a value was not known before.
    for problem in text_problems(bound):
        raise EvaluationError(problem)
    return bound


def run_command(
    words: Sequence[str], *, environ: Mapping[str, str], directory: Path, stop: Stop
) -> CommandEnd:
    """Run a program to its end or to a stop; nothing of its process group outlives it."""
    stdout, stderr = bytearray(), bytearray()

    async def run() -> ProcessEnd:
        loop = asyncio.get_running_loop()
        with (
            Limits() as limits,
            stop.telling(lambda: loop.call_soon_threadsafe(limits.end, CANCELLED)),
        ):
            return await run_process(
                words,
                environ=environ,
                directory=directory,
                streams=Streams(None, stdout.extend, stderr.extend),
                limits=limits,
                on_start=lambda _pid: None,
            )

    try:
        end = run_coroutine(run, stop.set)
    except LostProcessError as error:
        raise OSError(str(error)) from error
    return CommandEnd(
        end.exit_code, stdout.decode(errors="replace"), stderr.decode(errors="replace")
    )
