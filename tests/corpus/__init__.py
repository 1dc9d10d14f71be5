"""The corpus: small workflows, each with the outcome that docs/semantics.md gives it.

A case is a folder with a `workflow.py` that defines `workflow`, `expected` and, where they are
needed, `parameters`, `secrets`, `config_maps` and `artifacts`. Every engine that can run here runs
all cases.
"""

from __future__ import annotations

import importlib
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from couler.ir.workflow import Workflow
from tests.corpus.build import SHARED, Expected

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Case:
    """A workflow and its outcome.

    Attributes
    ----------
    name
        Name of its folder.
    workflow
        The workflow.
    expected
        What a run of it gives.
    parameters
        What the run is started with, see `parameters_with`.
    secrets, config_maps
        What must be there: name, key, value.
    artifacts
        What is in the repository of files at the start, by key.
    """

    name: str
    workflow: Workflow
    expected: Expected
    parameters: Mapping[str, object]
    secrets: Mapping[str, Mapping[str, str]]
    config_maps: Mapping[str, Mapping[str, str]]
    artifacts: Mapping[str, bytes]

    def parameters_with(self, shared: Path) -> dict[str, t.Any]:
        """Return the parameters with a folder in the place of `SHARED`."""
        return {
            name: str(shared) if value == SHARED else value
            for name, value in self.parameters.items()
        }

    def __str__(self) -> str:
        return self.name


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases by name."""
    return tuple(_load(path.parent.name) for path in sorted(FOLDER.glob("*/workflow.py")))


def _load(name: str) -> Case:
    module = importlib.import_module(f"{__name__}.{name}.workflow")
    return Case(
        name,
        module.workflow,
        module.expected,
        getattr(module, "parameters", {}),
        getattr(module, "secrets", {}),
        getattr(module, "config_maps", {}),
        getattr(module, "artifacts", {}),
    )
