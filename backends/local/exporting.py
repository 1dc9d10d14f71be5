"""Outputs of the workflow that are files, where people find them."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

from couler.backends.local.recording import Recorder
from couler.ir.evaluation.values import Gathered, Stored
from couler.ir.wire import is_file
from couler.store import ObjectStore, parse_reference


def remove_tree(folder: Path) -> None:
    """Remove a folder with all that is in it, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        shutil.rmtree(folder)


def export(stored: Stored, store: ObjectStore, folder: Path, recorder: Recorder) -> object:
    """Return an output for people and JSON; a file as the path of a copy in a folder."""
    if isinstance(stored, Gathered):
        return [
            None if item is None else export(item, store, folder / str(index), recorder)
            for index, item in enumerate(stored.items)
        ]
    if not is_file(stored.type):
        return recorder.show(stored)
    target = folder / parse_reference(stored.text).name
    store.fetch(stored.text, target)
    return str(target)
