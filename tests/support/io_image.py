"""The image of the helper that fetches and puts files, for pods of the emulated cluster."""

from __future__ import annotations

import sys
from pathlib import Path

import couler
from tests.fakes.kubernetes.container import PATH
from tests.fakes.kubernetes.images import Image

NAME = "couler-io:test"
_PROGRAMS, _COULER = "/opt/couler/bin", "/opt/couler/lib"


def io_image(folder: Path) -> Image:
    """An image whose Python has the Couler of these tests.

    Parameters
    ----------
    folder
        For its programs.
    """
    folder.mkdir(parents=True)
    python = folder / "python"
    python.write_text(f'#!/bin/sh\nPYTHONPATH={_COULER} exec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    source = Path(couler.__file__).parents[1]
    return Image(path=f"{_PROGRAMS}:{PATH}", mounts=((folder, _PROGRAMS), (source, _COULER)))
