"""YAML of cards, spaces and outcomes, with all that is wrong with a file told at once."""

from __future__ import annotations

import typing as t
from pathlib import Path

from pydantic import BaseModel, ValidationError

from couler.config_files import problems_of, read_yaml, shown
from couler.errors import ConfigurationError, TuningError
from couler.ir.wording import counted

M = t.TypeVar("M", bound=BaseModel)

MOST_BYTES = 1 << 20
"""A larger file is no card and no search space."""


def read_text(path: Path, what: str, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a file."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise TuningError(f"the {what} {path} cannot be read: {error.strerror}") from error
    if len(data) > most_bytes:
        raise TuningError(f"the {what} {path} has more than {most_bytes:,} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TuningError(f"the {what} {path} is no text in UTF-8: {error}") from error


def parse_yaml(text: str, where: str, *, exact_keys: bool = False) -> t.Any:
    """Return what a text of YAML or JSON says."""
    try:
        return read_yaml(text, where, exact_keys=exact_keys).tree
    except ConfigurationError as error:
        raise TuningError(str(error)) from error


def parse_sheet(model: type[M], text: str, where: str) -> M:
    """Return what a text of YAML describes."""
    return make_sheet(model, parse_yaml(text, where), where)


def make_sheet(model: type[M], given: object, where: str) -> M:
    """Return what plain values describe."""
    if not isinstance(given, dict):
        known = ", ".join(model.model_fields)
        what = "it is empty, and" if given is None else f"{shown(given)} is"
        raise TuningError(f"{where}: {what} no table with the keys {known}")
    try:
        return model.model_validate(_tuples(given))
    except ValidationError as error:
        problems = list(dict.fromkeys(text for _, text in problems_of(model, error)))
        raise TuningError(f"{where}: {counted(len(problems), 'problem')}", problems) from error


def _tuples(value: object) -> object:
    """Return the value with tuples for lists, as frozen models hold them."""
    if isinstance(value, list):
        return tuple(_tuples(one) for one in value)
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return value
