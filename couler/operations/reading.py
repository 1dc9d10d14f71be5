"""Data cards out of files and dicts, with all that is wrong with one told at once."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Iterator, Mapping

from couler.errors import EstimateError
from couler.ir.diagnostics import did_you_mean
from couler.operations.data import (
    DataCard,
    ImageCard,
    TabularCard,
    problems_of_fields,
    raise_problems,
)

_KINDS: tuple[type[TabularCard] | type[ImageCard], ...] = (TabularCard, ImageCard)


def parse_data_card(text: str, *, file: str = "data card") -> DataCard:
    """Return the data card that a text of YAML or JSON describes."""
    import yaml

    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise EstimateError(f"{file}: no YAML: {' '.join(str(error).split())}") from error
    return read_data_card(given, where=file)


def read_data_card(given: object, *, where: str = "data card") -> DataCard:
    """Return the data card that an object of plain values describes."""
    if not isinstance(given, Mapping):
        raise EstimateError(f"{where}: {given!r:.60} is no object with the fields of a data card")
    fields = {str(name): value for name, value in given.items()}
    type_ = fields.pop("type", None)
    kind = next((one for one in _KINDS if one.type == type_), None)
    if kind is None:
        raise EstimateError(f'{where}: the type is {type_!r}; there are "tabular" and "image"')
    raise_problems(where, [*_problems_of_names(kind, fields), *problems_of_fields(kind, fields)])
    make: t.Any = kind
    card: DataCard = make(**fields)
    return card


def _problems_of_names(kind: type[t.Any], given: Mapping[str, object]) -> Iterator[str]:
    known = {field.name: field for field in dataclasses.fields(kind)}
    for name in given:
        if name not in known:
            yield f'there is no field "{name}".{did_you_mean(name, known)}'
    for name, field in known.items():
        if name not in given and field.default is dataclasses.MISSING:
            yield f"{name} is missing"
