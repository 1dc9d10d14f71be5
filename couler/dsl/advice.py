"""What messages say of values of a wrong kind: how these look, and what to write in their place."""

from __future__ import annotations

import datetime
import math
import os
import re
import types
import typing as t
from collections.abc import Iterable, Mapping

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_LONGEST = 60


def shown(value: object) -> str:
    """Return how a message shows a value: in one short line that is the same in every run."""
    text = repr(value)
    if isinstance(value, set | frozenset) and value:  # in one order
        text = "{" + ", ".join(sorted(map(repr, value))) + "}"
    text = " ".join(_ADDRESS.sub("", text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def advice(value: object) -> str:
    """Return what to write in place of a value that cannot travel to a step."""
    from couler.dsl.handles import Value
    from couler.dsl.locations import LocatedFile

    if isinstance(value, Value):
        return "pass it as an argument of its own"
    if isinstance(value, LocatedFile):
        return f"declare the argument as {'Directory' if value.is_folder else 'File'}"
    for kind, text in _ADVICE:
        if isinstance(value, kind):
            return text
    if isinstance(value, float) and not math.isfinite(value):
        return "JSON has no such number; write None or a text"
    if isinstance(value, Mapping):
        return _advice_inside(value.keys(), value.values())
    if isinstance(value, list | tuple):
        return _advice_inside((), value)
    if callable(value):
        name = getattr(value, "__name__", "function")
        return "call it" if name.startswith("<") else f"call it: {name}(...)"
    if type(value).__module__ in ("decimal", "fractions", "uuid"):
        return "write str(value)"
    for attribute, text in _BY_ATTRIBUTE.items():
        if hasattr(value, attribute):
            return text
    return "write list(value)" if isinstance(value, Iterable) else "write it to a File"


def _advice_inside(keys: Iterable[object], values: Iterable[object]) -> str:
    """Return what to do about the first part of a collection that cannot travel."""
    from couler.dsl.types import is_json

    for key in keys:
        if not isinstance(key, str):
            return f"keys are text, not {shown(key)}"
    for one in values:
        if not is_json(one):
            return f"it holds {shown(one)}: {advice(one)}"
    return "write it to a File"


_ADVICE: tuple[tuple[t.Any, str], ...] = (
    (os.PathLike, "write str(value)"),
    ((datetime.date, datetime.time), "write value.isoformat()"),
    (datetime.timedelta, "write value.total_seconds()"),
    (complex, "write str(value)"),
    ((set, frozenset), "write sorted(value)"),
    ((bytes, bytearray, memoryview), "decode it, or write it to a File"),
    (types.ModuleType, "import it in the function of the step"),
    (range, "write list(value)"),
)
"""By the type of a value, the most special first."""

_BY_ATTRIBUTE = {
    "to_csv": "write it to a file, and hand that over as a File",  # a table of pandas
    "tolist": "write value.tolist(), or a File if it is large",  # a number or array of NumPy
    "model_dump": "write value.model_dump()",  # a model of pydantic
}
"""By an attribute, for types of packages that need not be installed."""
