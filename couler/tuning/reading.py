"""YAML of cards, spaces and outcomes, with all that is wrong with a file told at once."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from couler.errors import TuningError
from couler.ir.diagnostics import did_you_mean
from couler.ir.wording import counted

M = t.TypeVar("M", bound=BaseModel)

MOST_BYTES = 1 << 20
"""A larger file is no card and no search space."""


class Sheet(BaseModel):
    """Base of what is read from YAML here: immutable, exact about types, without other keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def read_text(path: Path, what: str, most_bytes: int = MOST_BYTES) -> str:
    """Return the text of a file.

    Raises
    ------
    TuningError
        It cannot be read, is too large, or is no UTF-8.
    """
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


def parse_yaml(text: str, where: str) -> object:
    """Return what a text of YAML or JSON says.

    Raises
    ------
    TuningError
        It is no YAML, or uses aliases: with those a small file can stand for a huge one.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for event in yaml.parse(text, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                mark = event.start_mark
                place = where if mark is None else f"{where}:{mark.line + 1}"
                raise TuningError(f"{place}: aliases (*{event.anchor}) are not read here")
        return yaml.load(text, Loader=loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, TuningError):
            raise
        raise TuningError(f"{where}: no YAML: {' '.join(str(error).split())}") from error


def parse_sheet(model: type[M], text: str, where: str) -> M:
    """Return what a text of YAML describes.

    Raises
    ------
    TuningError
        With all problems of the text.
    """
    return make_sheet(model, parse_yaml(text, where), where)


def make_sheet(model: type[M], given: object, where: str) -> M:
    """Return what plain values describe.

    Raises
    ------
    TuningError
        With all problems of the values.
    """
    if not isinstance(given, dict):
        known = ", ".join(model.model_fields)
        raise TuningError(f"{where}: {given!r:.60} is no table with the keys {known}")
    try:
        # As JSON, so that a list is taken for a tuple; types are exact all the same.
        return model.model_validate(_tuples(given))
    except ValidationError as error:
        problems = list(dict.fromkeys(_problems(model, error)))
        raise TuningError(f"{where}: {counted(len(problems), 'problem')}", problems) from error


def _tuples(value: object) -> object:
    """Return the value with tuples for lists, as frozen models hold them."""
    if isinstance(value, list):
        return tuple(_tuples(one) for one in value)
    if isinstance(value, dict):
        return {key: _tuples(one) for key, one in value.items()}
    return value


def _problems(model: type[BaseModel], error: ValidationError) -> Iterator[str]:
    for one in error.errors(include_url=False):
        *parents, last = one["loc"] or ("",)
        place = ".".join(map(str, one["loc"]))
        if one["type"] == "extra_forbidden":
            near = did_you_mean(str(last), _fields_at(model, parents))
            yield f'there is no key "{place}".{near}'
        elif one["type"] == "missing":
            yield f"{place} is missing"
        elif one["type"] == "value_error":
            message = str(one["ctx"]["error"]) if "ctx" in one else one["msg"]
            yield f"{place}: {message}" if place else message
        else:
            yield f"{place} is {one['input']!r:.60}; {one['msg'][:1].lower()}{one['msg'][1:]}"


def _fields_at(model: type[BaseModel], parents: t.Sequence[int | str]) -> list[str]:
    """Return the keys of the table at a place, as far as types tell it."""
    kind: t.Any = model
    is_inside = True
    for part in parents:
        if not is_inside:  # the key or number of one of several
            is_inside = True
            continue
        field = getattr(kind, "model_fields", {}).get(str(part))
        kind = None if field is None else _model_in(field.annotation)
        several = (dict, tuple)
        is_inside = field is None or t.get_origin(field.annotation) not in several
    return list(getattr(kind, "model_fields", ()))


def _model_in(annotation: t.Any) -> t.Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((made for one in t.get_args(annotation) if (made := _model_in(one))), None)
