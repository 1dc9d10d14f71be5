"""Paths that a step declares: inside of its work folder, or absolute."""

from __future__ import annotations

import functools
import os
import typing as t
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from couler.backends.local.runtimes.base import Job
from couler.ir.diagnostics import Diagnostic
from couler.ir.storage import EmptyVolume, EphemeralVolume, HostVolume, Volume
from couler.ir.workflow import WORK_DIR, Step

OUTSIDE_CODE = "CLR361"
"""A declared path at which a step cannot have a file of its own."""

_SYSTEM = ("/proc", "/sys")


class Mounted(t.NamedTuple):
    """A volume at a path of a step."""

    source: Path
    path: str
    read_only: bool


@functools.lru_cache(maxsize=1024)  # an attempt asks several times for the same few
def inside_work(path: str) -> str | None:
    """Return a declared path as relative to the work folder, None if it leads out of that."""
    if path == WORK_DIR:
        return "."
    parts = PurePosixPath(path.removeprefix(f"{WORK_DIR}/"))
    return None if parts.is_absolute() or ".." in parts.parts else str(parts)


def declared_paths(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the name and the path of each input and output of a step that declares one."""
    for given in step.inputs:
        if given.path is not None:
            yield given.name, given.path
    for output in step.outputs:
        if output.path is not None:
            yield output.name, output.path


def absolute_paths(step: Step) -> tuple[str, ...]:
    """Return the declared paths of a step that are outside of its work folder, each once."""
    paths = [path for _, path in declared_paths(step)]
    return tuple(dict.fromkeys(path for path in paths if inside_work(path) is None))


def volume_source(volume: Volume, folder: Path) -> Path | None:
    """Return what stands for a volume on this machine, None for one that it cannot have."""
    match volume:
        case EmptyVolume() | EphemeralVolume():
            return folder / volume.name
        case HostVolume():
            return Path(volume.path)
    return None


def mounted(job: Job) -> tuple[Mounted, ...]:
    """Return the volumes that a step sees, those in folders of others last."""
    found = []
    for mount in job.step.mounts:
        volume = job.volumes[mount.volume]
        source = volume_source(volume, job.volumes_folder)
        if source is None:
            raise ValueError(f"a volume of the kind {volume.kind} was not refused")
        if mount.sub_path is not None:
            source /= mount.sub_path
        found.append(Mounted(source, os.path.normpath(mount.path), mount.read_only))
    return tuple(sorted(found, key=lambda one: one.path))


def make_volumes(job: Job) -> None:
    """Make the folders of the empty volumes that a step sees."""
    own = job.volumes_folder
    for one in mounted(job):
        if one.source.is_relative_to(own):
            one.source.mkdir(parents=True, exist_ok=True)


def below(path: str, folder: str) -> str | None:
    """Return an absolute path as relative to a folder, None if it is not in it."""
    if not PurePosixPath(path).is_relative_to(folder):
        return None
    return str(PurePosixPath(path).relative_to(folder))


def in_mirror(root: Path, path: str) -> Path:
    """Return the place of an absolute path in a folder that stands for the root."""
    return root / path.lstrip("/")


def without_links(path: str) -> str:
    """Return an absolute path with the links of the folders around it resolved."""
    folder, name = os.path.split(os.path.normpath(path))
    return os.path.join(os.path.realpath(folder), name)


def refuse_paths(
    step: Step, path: str, refuse_absolute: Callable[[str], str | None]
) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each path of a step at which nothing can lie."""
    places = [(f'"{name}"', where) for name, where in declared_paths(step)]
    places += [(f'the volume "{mount.volume}"', mount.path) for mount in step.mounts]
    for what, where in places:
        if inside_work(where) is not None:
            continue
        reason: str | None
        if not where.startswith("/"):
            reason = "which leads out of COULER_WORK. Make it a path inside of it"
        elif any(below(os.path.normpath(where), folder) for folder in _SYSTEM):
            reason = "which belongs to the system. Make it relative to COULER_WORK"
        else:
            reason = refuse_absolute(where)
        if reason is not None:
            yield Diagnostic(
                OUTSIDE_CODE,
                f'step "{path}": {what} has the path {where}, {reason}',
                step=path,
                source=step.source,
            )
