"""Parameters of a workflow out of a file, as `-p @FILE` takes them."""

from __future__ import annotations

import json
from pathlib import Path

from couler.errors import ParameterError, TuningError
from couler.ir.parameters import PlainText
from couler.tuning.outcome import KIND, make_outcome
from couler.tuning.reading import parse_yaml, read_text

_MOST_BYTES = 1 << 24


def read_parameters(path: Path) -> dict[str, object]:
    """Return parameters by name, with the types that the file has."""
    try:
        tree = parse_yaml(read_text(path, "file of parameters", _MOST_BYTES), str(path))
        if isinstance(tree, dict) and tree.get("kind") == KIND:
            tree = make_outcome(tree, str(path)).parameters
    except TuningError as error:
        raise ParameterError(f"-p @{path}: {error}") from error
    if not isinstance(tree, dict) or not all(isinstance(name, str) for name in tree):
        raise ParameterError(f"-p @{path}: it is no table of parameters by name")
    return {name: _checked(path, name, value) for name, value in tree.items()}


def _checked(path: Path, name: str, value: object) -> object:
    if isinstance(value, str):
        return PlainText(value)
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ParameterError(
            f"-p @{path}: {name} is {value!r:.60}, which has no JSON form. Quote it"
        ) from error
    return value
