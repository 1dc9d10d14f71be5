"""Builds the programs of Argo that the oracle runs, once for a state of the sources."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.fakes.kubernetes.container import sandbox_obstacle

HERE = Path(__file__).parent
CACHE = (HERE.parents[2] / "build" / "argo-oracle").resolve()  # it may be a link to another's
MODULE = "github.com/argoproj/argo-workflows/v4"
_KEEP_S = 86_400.0
_SIGNALS = "workflow/executor/osspecific/signal_linux.go"


class BuildError(Exception):
    """The programs cannot be built here."""


def obstacle() -> str | None:
    """Why the oracle cannot run workflows here, or None."""
    return build_obstacle() or sandbox_obstacle()


def build_obstacle() -> str | None:
    """Why there cannot be Argo's programs here, or None."""
    if not _ready(_folder()) and shutil.which("go") is None:
        return "the Argo oracle needs Go to build Argo's programs"
    return None


def programs() -> Path:
    """The folder of the programs; builds them if need be, which takes minutes.

    Raises
    ------
    BuildError
        Go fails.
    """
    folder = _folder()
    if _ready(folder):
        return folder
    folder.mkdir(parents=True, exist_ok=True)
    with open(CACHE.parent / "argo-oracle.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _ready(folder):
            _build(folder)
    return folder


@functools.cache
def _folder() -> Path:
    digest = hashlib.sha256()
    for file in sorted([*HERE.glob("*/*.go"), HERE / "go.mod", HERE / "go.sum"]):
        digest.update(file.read_bytes())
    return CACHE / digest.hexdigest()[:16]


def _ready(folder: Path) -> bool:
    return (folder / "done").exists()


def _build(folder: Path) -> None:
    """Build from the module as it is, with the one file laid over it that it lacks.

    Go lays nothing over its module cache, but does over a symbolic link to a folder of it.
    """
    _go("mod", "download", MODULE)
    source = Path(_go("list", "-mod=mod", "-m", "-f", "{{.Dir}}", MODULE).strip())
    link = folder / "argo"
    link.unlink(missing_ok=True)
    link.symlink_to(source)
    for name in ("go.mod", "go.sum"):
        shutil.copy(HERE / name, folder / name)
    _go("mod", "edit", f"-replace={MODULE}={link}", str(folder / "go.mod"))
    replace = {}
    if not (source / _SIGNALS).exists():
        replace[str(link / _SIGNALS)] = str(HERE / "osspecific" / "signal_linux.go")
    overlay = folder / "overlay.json"
    overlay.write_text(json.dumps({"Replace": replace}))
    _go(
        "build",
        f"-modfile={folder / 'go.mod'}",
        f"-overlay={overlay}",
        "-mod=mod",
        "-buildvcs=false",
        "-ldflags=-s -w",
        f"-o={folder}{os.sep}",
        "./lint",
        "./controller",
        "./launcher",
        "./evaluate",
        f"{MODULE}/cmd/argoexec",
    )
    (folder / "done").touch()
    for other in CACHE.iterdir():  # one that is in use is not that old
        if time.time() - other.stat().st_mtime > _KEEP_S:
            shutil.rmtree(other)


def _go(*arguments: str) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "", "GOWORK": "off"}
    done = subprocess.run(
        ["go", *arguments], cwd=HERE, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise BuildError(f"go {' '.join(arguments)}: {done.stderr.strip()[-2000:]}")
    return done.stdout


if __name__ == "__main__":
    reason = obstacle()
    sys.stdout.write(f"{reason or programs()}\n")
