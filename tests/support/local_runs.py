"""Runs workflows of the corpus on this machine."""

from __future__ import annotations

import os
from pathlib import Path

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.state.results import RunResult
from tests.corpus import Case


def run_here(case: Case, folder: Path) -> RunResult:
    """Run a case to its end, with what it needs in a folder."""
    shared = folder / "shared"
    shared.mkdir(parents=True)
    entries = {
        f"COULER_{kind}_{name}_{key}": value
        for kind, maps in (("SECRET", case.secrets), ("CONFIG", case.config_maps))
        for name, entries in maps.items()
        for key, value in entries.items()
    }
    for key, content in case.artifacts.items():
        file = folder / "home" / "repository" / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return LocalBackend().run(
        case.workflow,
        parameters=case.parameters_with(shared),
        options=RunOptions(home=folder / "home", jobs=4, gpus=1),
        environ={**os.environ, **entries},
    )
