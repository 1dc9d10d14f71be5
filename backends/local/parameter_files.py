"""Files that parameters of a run name: put into the store, and held there by the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from couler.backends.local.parameters import Parameters
from couler.backends.local.writing import explain_writing
from couler.errors import LostArtifactError, ParameterError
from couler.ir.semantics.values import Single
from couler.ir.values import is_file
from couler.state.database import Database
from couler.state.holds import hold_objects
from couler.state.home import Home
from couler.store import ObjectStore


def require_files(parameters: Parameters) -> None:
    """Refuse what is no file or directory."""
    for name, value in parameters.values.items():
        if name in parameters.kept:
            continue
        path = Path(value.text) if is_file(value.type) else None
        if path is not None and not (
            path.is_dir() if value.type == "directory" else path.is_file()
        ):
            raise ParameterError(f'parameter "{name}": there is no {value.type} {value.text!r}')


def store_files(parameters: Parameters, store: ObjectStore, home: Home) -> dict[str, Path]:
    """Put the files that new parameters name into the store, as the values that travel."""
    files: dict[str, Path] = {}
    for name, value in tuple(parameters.values.items()):
        if is_file(value.type) and name not in parameters.kept:
            path = Path(value.text)
            with explain_writing(home.root, f'keep the parameter "{name}"'):
                reference = store.put(path)
            parameters.values[name] = Single(reference, value.type)
            files[reference] = path
    return files


def hold_files(
    database: Database, store: ObjectStore, run_id: str, files: Mapping[str, Path]
) -> None:
    """Let a run hold the files of its parameters."""
    for reference, path in files.items():
        while not _is_held(database, store, run_id, reference):
            if store.put(path) != reference:
                raise ParameterError(f"{str(path)!r} was changed while the run began")


def _is_held(database: Database, store: ObjectStore, run_id: str, reference: str) -> bool:
    try:
        hold_objects(database, run_id, store.digests(reference), of_cache=False)
    except LostArtifactError:
        return False
    return store.exists(reference)
