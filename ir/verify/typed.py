"""Rules for values that stand where a type is declared."""

from __future__ import annotations

from couler.ir.values import ItemRef, Literal, Value
from couler.ir.verify.types import FILE_TYPES, Kind, is_certainly_not, is_readable
from couler.ir.verify.values import Reader, show
from couler.ir.wire import ValueType


def check_typed(
    reader: Reader,
    value: Value,
    field: str,
    declared: ValueType,
    *,
    many: bool = False,
    covered: bool = False,
    by_type: bool = False,
) -> None:
    """Check a value that stands where a type is declared."""
    kind = reader.kind(value, field, covered)
    if many:
        _check_many(reader, kind, field, declared)
    elif isinstance(value, Literal):
        _check_literal(reader, value.value, field, declared, by_type=by_type)
    elif declared in FILE_TYPES:
        if not _is_literal_item(reader, value):  # its text is a location
            _check_file(reader, kind, field, declared)
    elif kind.type in FILE_TYPES:
        if not kind.many or declared not in ("list", "json"):
            reader.not_a_file(kind, field)
    elif is_certainly_not(kind, declared):
        reader.add("CLR176", f"{field} is declared {declared}, but is given {kind}.")
    elif by_type and declared == "str" and kind.family not in ("str", "json"):
        _warn_of_text(reader, field, str(kind))


def _is_literal_item(reader: Reader, value: Value) -> bool:
    if not isinstance(value, ItemRef) or reader.step is None or reader.step.foreach is None:
        return False
    return isinstance(reader.step.foreach.over.get(value.name), Literal)


def _check_literal(
    reader: Reader, value: object, field: str, declared: ValueType, *, by_type: bool
) -> None:
    if not is_readable(value, declared):
        reader.add("CLR175", f"{field} is declared {declared}, but is given {show(value)}.")
    elif by_type and declared == "str" and not isinstance(value, str):
        _warn_of_text(reader, field, show(value))


def _warn_of_text(reader: Reader, field: str, what: str) -> None:
    reader.view.add(
        "CLR184",
        reader.step,
        f"{field} is declared str, but is given {what}, which is read as its JSON text. "
        "Declare its own type.",
        "warning",
    )


def _check_many(reader: Reader, kind: Kind, field: str, declared: ValueType) -> None:
    if declared not in FILE_TYPES:
        reader.add(
            "CLR179", f'{field} has many, which is for files. Declare its type as "list" instead.'
        )
    elif not kind.many and kind.type not in ("json", "list"):
        reader.add(
            "CLR179",
            f"{field} takes many files, but is given {kind}. Read a step with a foreach, or "
            "remove many.",
        )


def _check_file(reader: Reader, kind: Kind, field: str, declared: ValueType) -> None:
    if kind.many and kind.type in FILE_TYPES:
        reader.add(
            "CLR179", f"{field} takes one {declared}, but is given {kind}. Say many for all."
        )
    elif kind.type in FILE_TYPES:
        if kind.type != declared:
            reader.add("CLR176", f"{field} is declared {declared}, but is given {kind}.")
    elif kind.type != "json":
        reader.add(
            "CLR178",
            f"{field} is declared {declared}, but is given {kind}. Read an output that is "
            f"declared {declared}.",
        )
