"""Files at absolute paths for processes of the machine, through a user and a mount namespace."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from couler.backends.local.runtimes import enter
from couler.backends.local.runtimes.base import CannotStartError, Job
from couler.backends.local.runtimes.paths import (
    absolute_paths,
    below,
    in_mirror,
    inside_work,
    mounted,
    without_links,
)
from couler.ir.workflow import Step

_LAUNCHER = (sys.executable, "-I", "-S", enter.__file__)
CANNOT_START = enter.CANNOT_START
"""Exit code of the launcher where it could not start the program."""

_PROBE_S = 10.0


def probe() -> str | None:
    """Return why processes cannot be shown files of their own on this machine, None if they can."""
    if not sys.platform.startswith("linux"):
        return "only Linux has mount namespaces"
    with tempfile.TemporaryDirectory(prefix="couler-probe-") as name:
        folder = Path(name).resolve()
        target = "/couler-probe/written"
        _write_spec(folder, [target], [], str(folder))
        in_mirror(folder / "root", target).parent.mkdir(parents=True)
        words = (*_LAUNCHER, str(folder / "spec.json"), "--", "/bin/sh", "-c", f"echo > {target}")
        try:
            subprocess.run(words, cwd="/", capture_output=True, timeout=_PROBE_S, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"the probe did not end: {error}"
        if in_mirror(folder / "root", target).is_file():
            return None
        refused = folder / "refused"
        told = refused.read_text(encoding="utf-8") if refused.is_file() else ""
        return told or "the system does not allow it"


def needs_view(step: Step) -> bool:
    """Return whether the process of a step must see files of its own at absolute paths."""
    return bool(step.mounts) or bool(absolute_paths(step))


def place(job: Job, path: str) -> Path:
    """Return where on the machine an absolute path of a step lies."""
    path = without_links(path)
    for one in reversed(mounted(job)):
        inner = below(path, without_links(one.path))
        if inner is not None:
            return one.source / inner
    return in_mirror(job.folder / "root", path)


def is_own(job: Job, path: str) -> bool:
    """Return whether the process of a step sees files of its own at an absolute path."""
    folders = [*_private(job), *(without_links(one.path) for one in mounted(job))]
    return any(below(without_links(path), folder) is not None for folder in folders)


def prepare(job: Job) -> None:
    """Make the folders around what a step declares."""
    for one in mounted(job):
        if not one.source.exists():
            raise CannotStartError(f"{one.source}, which it mounts at {one.path}, does not exist")
    for path in _private(job):
        in_mirror(job.folder / "root", path).parent.mkdir(parents=True, exist_ok=True)
    (job.folder / "root").mkdir(exist_ok=True)
    for path in (*_private(job), *(without_links(one.path) for one in mounted(job))):
        if below(os.path.realpath(job.folder), path) is not None:
            raise CannotStartError(
                f"it would see other files at {path}, where the files of the run lie as well. "
                "Keep runs in another folder (COULER_HOME)"
            )


def wrap(job: Job, words: Sequence[str], directory: Path) -> tuple[str, ...]:
    """Return the words that run a program with the files of its step."""
    binds = [(str(one.source), without_links(one.path), one.read_only) for one in mounted(job)]
    _write_spec(job.folder, _private(job), binds, str(directory))
    return (*_LAUNCHER, str(job.folder / "spec.json"), "--", *words)


def refused(job: Job) -> str | None:
    """Return why the program did not start: a text, or a number of an error of the system."""
    try:
        return (job.folder / "refused").read_text(encoding="utf-8") or None
    except FileNotFoundError:
        return None


def _private(job: Job) -> list[str]:
    """The paths at which the process does not see the machine, but for its volumes."""
    if not needs_view(job.step):
        return []
    paths = list(absolute_paths(job.step))
    wanted = job.step.working_dir
    if wanted is not None and inside_work(wanted) is None and not Path(wanted).is_dir():
        paths.append(wanted)
    volumes = [without_links(one.path) for one in mounted(job)]
    found = dict.fromkeys(without_links(path) for path in paths)
    return [path for path in found if all(below(path, folder) is None for folder in volumes)]


def _write_spec(
    folder: Path, private: list[str], binds: list[tuple[str, str, bool]], directory: str
) -> None:
    spec = {
        "root": str(folder / "root"),
        "private": private,
        "binds": binds,
        "directory": directory,
        "refused": str(folder / "refused"),
    }
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
