"""The programs that containers find beside those of the machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path


def make_tools(folder: Path, python: str, links: Mapping[str, Path] | None = None) -> Path:
    """Make a folder for PATH with ``python`` and ``python3``, and links to other programs."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("python", "python3"):
        script = folder / name
        # Not a link: a virtual environment is found by the path of its interpreter.
        script.write_text(f'#!/bin/sh\nexec "{python}" "$@"\n')
        script.chmod(0o755)
    for name, program in (links or {}).items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(program)
    return folder


def hidden_folders(python: str, *more: Path) -> tuple[Path, ...]:
    """The folders of programs that lie in /tmp or /run, which a container does not see."""
    prefixes = [Path(python).parents[1], Path(sys.base_prefix), *more]
    return tuple(
        path for path in prefixes if path.is_relative_to("/tmp") or path.is_relative_to("/run")
    )
