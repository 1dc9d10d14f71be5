"""What tests compile for where a workflow may have files: a volume, and an image for the helper."""

from __future__ import annotations

from couler.backends.base import Target
from tests.support import io_image

CLAIM = "files"
"""The claim that keeps files."""


def with_files(version: str | None = None) -> Target:
    """A target that has a place for files."""
    options = {"files_claim": CLAIM, "io_image": io_image.NAME}
    return Target(engine_version=version, options=options)
