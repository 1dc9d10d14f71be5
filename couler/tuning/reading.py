"""YAML of cards, spaces and outcomes, with all that is wrong with a file told at once."""

from __future__ import annotations

import functools
import re
import typing as t
from collections.abc import Iterator
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from couler.errors import TuningError
from couler.ir.diagnostics import did_you_mean
from couler.ir.wording import counted
from couler.ir.yaml_loading import safe_loader

M = t.TypeVar("M", bound=BaseModel)

if t.TYPE_CHECKING:
    import yaml

MOST_BYTES = 1 << 20
"""A larger file is no card and no search space."""

_MOST_DEPTH = 100
"""Deeper nesting is no card either, and would use up the stack."""

_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+")
"""Numbers such as 1e-4, which YAML 1.2 and JSON have, and which YAML 1.1 takes for a text."""


class Sheet(BaseModel):
    """Base of what is read from YAML here: immutable, exact about types, without other keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


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


def parse_yaml(text: str, where: str) -> object:
    """Return what a text of YAML or JSON says."""
    import yaml

    try:
        depth = 0
        for event in yaml.parse(text, Loader=_loader()):
            if isinstance(event, yaml.AliasEvent):
                told = f"aliases (*{event.anchor}) are not read here"
                raise TuningError(f"{_place(where, event.start_mark)}: {told}")
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            if depth > _MOST_DEPTH:
                told = f"it nests lists and tables more than {_MOST_DEPTH} deep"
                raise TuningError(f"{_place(where, event.start_mark)}: {told}")
        loader = _loader()(text)
        try:
            node = loader.get_single_node()
            if node is None:
                return None
            _refuse_double_keys(node, where)
            return loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        if isinstance(error, TuningError):
            raise
        raise TuningError(f"{where}: no YAML: {' '.join(str(error).split())}") from error


@functools.cache
def _loader() -> t.Any:
    """Return the class that reads YAML, with the numbers of YAML 1.2."""

    class Loader(safe_loader()):  # type: ignore[misc]  # either
        pass

    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", re.compile(f"^(?:{_NUMBER.pattern})$"), list("-+.0123456789")
    )
    return Loader


def _refuse_double_keys(node: yaml.Node, where: str) -> None:
    """Refuse a table in which a key is there twice: one of the two would be lost."""
    import yaml

    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, yaml.SequenceNode):
            waiting += one.value
        if not isinstance(one, yaml.MappingNode):
            continue
        seen: set[tuple[str, str]] = set()
        for key, value in one.value:
            waiting.append(value)
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                place = _place(where, key.start_mark)
                raise TuningError(f'{place}: the key "{key.value:.60}" is there twice')
            seen.add((key.tag, key.value))


def _place(where: str, mark: t.Any) -> str:
    return where if mark is None else f"{where}:{mark.line + 1}"


def parse_sheet(model: type[M], text: str, where: str) -> M:
    """Return what a text of YAML describes."""
    return make_sheet(model, parse_yaml(text, where), where)


def make_sheet(model: type[M], given: object, where: str) -> M:
    """Return what plain values describe."""
    if not isinstance(given, dict):
        known = ", ".join(model.model_fields)
        what = "it is empty, and" if given is None else f"{given!r:.60} is"
        raise TuningError(f"{where}: {what} no table with the keys {known}")
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
        elif one["type"] == "too_short":
            yield f"{place} is empty"
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
