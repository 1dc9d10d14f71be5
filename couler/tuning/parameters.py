"""Parameters of a workflow out of a file, as `-p @FILE` takes them."""

from __future__ import annotations

import json
from pathlib import Path

from couler.errors import ParameterError, TuningError
from couler.tuning.outcome import KIND, make_outcome
from couler.tuning.reading import parse_yaml, read_text

__all__ = ["read_parameters"]

_MOST_BYTES = 1 << 24


def read_parameters(path: Path) -> dict[str, str]:
    """Return parameters by name, each as the text that stands for it after `-p NAME=`.

    Parameters
    ----------
    path
        A table in YAML or JSON, or an outcome of tuning, of which the chosen ones are taken.

    Raises
    ------
    ParameterError
        The file cannot be read, or is no such table.
    """
    try:
        tree = parse_yaml(read_text(path, "file of parameters", _MOST_BYTES), str(path))
        if isinstance(tree, dict) and tree.get("kind") == KIND:
            tree = make_outcome(tree, str(path)).parameters
    except TuningError as error:
        raise ParameterError(f"-p @{path}: {error}") from error
    if not isinstance(tree, dict) or not all(isinstance(name, str) for name in tree):
        raise ParameterError(f"-p @{path}: it is no table of parameters by name")
    return {name: _text(path, name, value) for name, value in tree.items()}


def _text(path: Path, name: str, value: object) -> str:
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"-p @{path}: {name} is {value!r:.60}, which has no JSON form. Quote it"
        ) from error
