"""What containers get of their image. The programs are those of this machine."""

from __future__ import annotations

import functools
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

_BUSYBOX = "/run/node/busybox"
_APPLETS = "/run/node/applets"


class ConfigError(Exception):
    """The kubelet cannot make a container of the spec, and waits for that to change."""


class PullError(ConfigError):
    """There is no such image."""


@dataclass(frozen=True)
class Image:
    """What an image adds to a container."""

    entrypoint: tuple[str, ...] = ()
    """The command of a container that names none."""
    arguments: tuple[str, ...] = ()
    """The arguments of a container that names neither a command nor arguments."""
    path: str = ""
    """The variable PATH, if it is not that of the machine."""
    mounts: tuple[tuple[Path, str], ...] = ()
    """Files and folders of the machine and where the container has them, not to be written."""


@dataclass(frozen=True)
class Images:
    """The images that can be pulled: those named, and any other unless `only_known` is set.

    A name without a tag stands for all its tags. Containers of ``busybox`` have busybox's programs
    and no others in their PATH.
    """

    known: Mapping[str, Image] = field(default_factory=dict)
    only_known: bool = False

    def get(self, name: str) -> Image:
        """The image of that name.

        Raises
        ------
        PullError
            It is not known, and only known ones can be pulled.
        ConfigError
            It is busybox, and this machine has none.
        """
        bare = untagged(name)
        found = self.known.get(name) or self.known.get(bare)
        if bare.rpartition("/")[2] == "busybox":
            return _busybox(found or Image())
        if found is None and self.only_known:
            raise PullError(f'failed to pull and unpack image "{name}": not found')
        return found or Image()


def untagged(name: str) -> str:
    """The name of an image without tag and digest.

    Examples
    --------
    >>> untagged("host:5000/a/b:1@sha256:0")
    'host:5000/a/b'
    """
    name = name.partition("@")[0]
    folder, slash, last = name.rpartition("/")
    return folder + slash + last.partition(":")[0]


def _busybox(image: Image) -> Image:
    if reason := busybox_obstacle():
        raise ConfigError(reason)
    program = shutil.which("busybox")
    assert program is not None
    mounts = ((Path(program), _BUSYBOX), (_applets(program), _APPLETS), (Path(program), "/bin/sh"))
    return replace(image, path=_APPLETS, mounts=(*image.mounts, *mounts))


@functools.cache
def busybox_obstacle() -> str | None:
    """Why containers of the image busybox cannot run here, or None."""
    program = shutil.which("busybox")
    if program is None:
        return "containers of the image busybox need a busybox: `make containers`"
    # A dynamic one would need the libraries at the paths of the image.
    if b"/ld-" in Path(program).read_bytes()[:4096]:
        return f"containers of the image busybox need a static one, {program} is not"
    return None


@functools.cache
def _applets(program: str) -> Path:
    """A folder with a link for each program of busybox, kept as long as this process lives."""
    kept = tempfile.TemporaryDirectory(prefix="applets-")
    _kept.append(kept)
    names = subprocess.run([program, "--list"], capture_output=True, text=True, check=True).stdout
    for name in names.split():
        (Path(kept.name) / name).symlink_to(_BUSYBOX)
    return Path(kept.name)


_kept: list[tempfile.TemporaryDirectory[str]] = []
