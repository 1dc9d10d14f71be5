"""Data cards out of files and dicts, with all that is wrong with one told at once."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.config_files import read_yaml, shown
from couler.errors import ConfigurationError, EstimateError
from couler.ir.wording import counted
from couler.operations.data import DataCard, ImageCard, TabularCard

_KINDS: tuple[type[TabularCard] | type[ImageCard], ...] = (TabularCard, ImageCard)


def parse_data_card(text: str, *, file: str = "data card") -> DataCard:
    """Return the data card that a text of YAML or JSON describes."""
    try:
        given = read_yaml(text, file).tree
    except ConfigurationError as error:
        raise EstimateError(str(error)) from error
    return read_data_card(given, where=file)


def read_data_card(given: object, *, where: str = "data card") -> DataCard:
    """Return the data card that an object of plain values describes."""
    if not isinstance(given, Mapping):
        raise EstimateError(f"{where}: {shown(given)} is no object with the fields of a data card")
    fields: dict[str, t.Any] = {str(name): value for name, value in given.items()}
    type_ = fields.pop("type", None)
    for kind in _KINDS:
        if kind.type == type_:
            try:
                return kind(**fields)
            except EstimateError as error:
                head = f"{where}: {counted(len(error.problems), 'problem')}"
                raise EstimateError(head, error.problems) from error
    raise EstimateError(f'{where}: the type is {shown(type_)}; there are "tabular" and "image"')
