"""What a run exchanges with places outside of it.

A file that comes from outside is put into the store before a process gets it, so that its content
is known: it is a part of the key of what the step does.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from couler.backends.local.locations.buckets import in_repository, open_bucket
from couler.backends.local.locations.git import GitTree
from couler.backends.local.locations.trees import Tree
from couler.backends.local.locations.web import Url
from couler.backends.local.secrets import Entries
from couler.backends.local.threads import Stop
from couler.backends.local.values import Single, View, resolve_text
from couler.errors import ArtifactError, ConfigurationError, EvaluationError
from couler.ir.artifacts import (
    Archive,
    ArtifactoryLocation,
    GitLocation,
    HttpLocation,
    Location,
    PluginLocation,
    RawLocation,
    is_in_repository,
    map_texts,
    repository_key,
)
from couler.ir.listing import fitting
from couler.ir.verify.credentials import credentials_in_address
from couler.ir.verify.locations import address_problems
from couler.ir.workflow import Input, Output, Step
from couler.store import ObjectStore, content_of

OUTSIDE_ERRORS = (ArtifactError, ConfigurationError, OSError)
"""What fetching a file from outside, or putting one there, can raise."""


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


class _Remote(t.Protocol):
    def fetch(self, target: Path) -> object: ...

    def put(self, source: Path, root: Path, stop: Stop) -> None: ...


@dataclass(frozen=True, slots=True)
class Exchange:
    """Fetches files from locations and puts files there.

    All of it may take long: an engine calls it in threads.

    Parameters
    ----------
    store
        Where fetched files go.
    repository
        Address of the repository of this machine, for locations that are but a key.
    entries
        The secrets of this machine.
    scratch
        Folder for files on their way.
    environ
        The environment of the programs that it calls.
    """

    store: ObjectStore
    repository: str
    entries: Entries
    scratch: Path
    environ: Mapping[str, str]

    def fetch(self, given: Input, location: Location, stop: Stop) -> Fetched:
        """Put what an input takes from outside into the store.

        Parameters
        ----------
        given
            The input.
        location
            Where it is, with its texts known.
        stop
            Ends programs that fetch.

        Raises
        ------
        ArtifactError
            It is not there, not of the declared type, or cannot be fetched.
        ConfigurationError
            A secret or a package is missing.
        OSError
            This machine's disk does not take it.
        """
        with self._folder() as folder:
            target = folder / _name_of(location)
            try:
                version = self._fetch(location, target, stop)
            except FileNotFoundError as error:
                if given.optional:
                    return NOTHING
                raise ArtifactError(f'the input "{given.name}": {error}') from error
            if given.archive is not None:
                packed, target = target, folder / "unpacked" / target.name
                target.parent.mkdir()
                _unpack(packed, target, given.archive)
            if target.is_dir() != (given.type == "directory"):
                found = "directory" if target.is_dir() else "file"
                raise ArtifactError(
                    f'the input "{given.name}" is declared {given.type}, but its location has '
                    f"a {found}"
                )
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
        """Put a file or a directory at a location.

        Parameters
        ----------
        source
            The file or directory.
        root
            The folder of the step that it is in; what its links lead to is, too.
        location
            Where to put it, with its texts known.
        archive
            How to pack it.
        stop
            Ends the search for what is in a directory.

        Raises
        ------
        ArtifactError, ConfigurationError, OSError
            As `fetch`.
        CutOffError
            It has been stopped.
        """
        with self._folder() as folder:
            if archive is not None:
                packed = folder / "packed"
                _pack(source, root, packed, archive, stop)
                source, root = packed, folder
            with self._open(location) as remote:
                remote.put(source, root, stop)

    def names(self, location: Location, pattern: str | None) -> tuple[str, ...]:
        """Return the keys of the files below a location whose texts are known, in order.

        Parameters
        ----------
        location
            Where they are.
        pattern
            Which of them.

        Raises
        ------
        ArtifactError
            There is none, or it is no location with files below it.
        ConfigurationError, OSError
            As `fetch`.
        """
        with self._open(location) as remote:
            if not isinstance(remote, Tree):
                raise ArtifactError(f"files at a {location.kind} location cannot be listed")
            try:
                below = remote.names()
            except FileNotFoundError as error:
                raise ArtifactError(str(error)) from error
        start = str(repository_key(location)).rstrip("/")
        return tuple(sorted(f"{start}/{name}" for name in fitting(below, pattern)))

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
            with self._folder() as folder:
                source = folder / Path(output.path or output.name).name
                self.store.fetch(stored.text, source)
                self.put(source, folder, targets[output.name], output.archive, stop)

    def _fetch(self, location: Location, target: Path, stop: Stop) -> str | None:
        """Fetch to a path, and return a name of the content that is better than its digest."""
        if isinstance(location, RawLocation):
            target.write_bytes(str(location.content).encode())
            return None
        if isinstance(location, GitLocation):  # the files of Git itself differ from clone to clone
            with self._folder() as private:
                tree = GitTree(location, self.entries, self.environ, private, stop)
                return f"git/{tree.fetch(target)}"
        with self._open(location) as remote:
            remote.fetch(target)
        return None

    @contextlib.contextmanager
    def _open(self, location: Location) -> Iterator[_Remote]:
        if is_in_repository(location):
            yield in_repository(self.repository, str(repository_key(location)))
        elif isinstance(location, HttpLocation | ArtifactoryLocation):
            with self._folder() as private:
                yield Url(location, self.entries, private)
        elif isinstance(location, GitLocation | RawLocation | PluginLocation):
            raise ArtifactError(f"nothing can be put at a {location.kind} location here")
        else:
            with self._folder() as private:
                yield open_bucket(location, self.entries, private)

    @contextlib.contextmanager
    def _folder(self) -> Iterator[Path]:
        self.scratch.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


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
    """Return where the inputs of a step are, outside of the workflow.

    Raises
    ------
    EvaluationError, WireError
        A text cannot be read.
    """
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
    bound = map_texts(location, lambda name, text: resolve_text(text, view))
    # What came from a value was not known before.
    for problem in (*address_problems(bound), *credentials_in_address(bound)):
        raise EvaluationError(problem)
    return bound


def _name_of(location: Location) -> str:
    """Return a name for what is at a location: the last part of its address."""
    for field in ("key", "path", "blob", "url", "repository"):
        text = getattr(location, field, None)
        if isinstance(text, str):
            name = text.partition("?")[0].rstrip("/").rpartition("/")[2]
            name = name.removesuffix(".git") if field == "repository" else name
            if name not in ("", ".", ".."):
                return name[-100:]
    return "content"


def _unpack(packed: Path, target: Path, archive: Archive) -> None:
    from couler.backends.local.locations.packing import unpack

    unpack(packed, target, archive)


def _pack(source: Path, root: Path, target: Path, archive: Archive, stop: Stop) -> None:
    from couler.backends.local.locations.packing import pack

    pack(source, root, target, archive, stop)
