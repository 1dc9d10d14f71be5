"""Rules for ranges: their ends, and how their numbers are written."""

from __future__ import annotations

import typing as t

from couler.errors import EvaluationError
from couler.ir.ranges import is_known, range_items, read_format
from couler.ir.values import Literal, Range
from couler.ir.verify.limits import check_literal
from couler.ir.verify.types import LIST, Kind

if t.TYPE_CHECKING:
    from couler.ir.verify.values import Reader

_WHOLE = ("int", "str", "json")


def check_range(reader: Reader, value: Range, field: str, covered: bool) -> Kind:
    """Check a range and return its type; the arguments are those of `Reader.kind`."""
    if (value.count is None) == (value.end is None):
        has = "neither" if value.count is None else "both"
        reader.add("CLR187", f"{field} is a range with {has} of count and end. Give one of them.")
        return LIST
    for name in ("start", "count", "end"):
        end = getattr(value, name)
        if end is None or isinstance(end, Literal):
            continue
        kind = reader.kind(end, field, covered)
        if kind.many or kind.type not in _WHOLE:
            reader.add(
                "CLR187",
                f"{field} is a range whose {name} is {kind}. Give a whole number, or an output "
                "that is declared int.",
            )
    if value.format is not None and read_format(value.format) is None:
        reader.add(
            "CLR187",
            f"{field} is a range with the format {value.format!r}. Give a text with one %d in it, "
            "or %03d for three digits, and without quotes, braces, backslashes and other %.",
        )
        return LIST
    if is_known(value):
        _check_known(reader, value, field)
    elif isinstance(value.count, Literal):
        _check_length(reader, value, field)
    return LIST


def _check_length(reader: Reader, value: Range, field: str) -> None:
    """Check how many numbers there are from a start that is not known."""
    try:
        range_items(value, lambda end: end.value if isinstance(end, Literal) else 0)
    except EvaluationError as error:
        reader.add("CLR187", f"{field}: {error}.")


def _check_known(reader: Reader, value: Range, field: str) -> None:
    try:
        items = range_items(value, lambda end: t.cast("Literal", end).value)
    except EvaluationError as error:
        reader.add("CLR187", f"{field}: {error}.")
        return
    if not field.startswith("foreach."):  # there each item travels, and the list does not
        check_literal(reader.view, reader.step, field, tuple(items))
