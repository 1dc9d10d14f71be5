"""The public names and their signatures, as they were last agreed on.

A change of tests/golden/public_api.txt is a change for users: it needs a line in CHANGELOG.md.
`make goldens` writes the file anew.
"""

from __future__ import annotations

import enum
import inspect
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import couler

SNAPSHOT = Path(__file__).parent / "golden" / "public_api.txt"


class Raw:
    """An annotation as it is written, without quotes."""

    def __init__(self, annotation: object) -> None:
        self.text = (
            annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
        )

    def __repr__(self) -> str:
        return self.text.strip("\"'")


def signature_of(value: object) -> str:
    try:
        found = inspect.signature(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return ""
    empty = inspect.Parameter.empty
    parameters = [
        one if one.annotation is empty else one.replace(annotation=Raw(one.annotation))
        for one in found.parameters.values()
    ]
    result = found.return_annotation
    returns = empty if result is empty else Raw(result)
    text = str(found.replace(parameters=parameters, return_annotation=returns))
    return re.sub(r"<[^>]*>", "...", text)


def describe(name: str, value: object) -> list[str]:
    if not inspect.isclass(value):
        return [f"{name}{signature_of(value) if callable(value) else ''}"]
    if issubclass(value, enum.Enum):
        return [f"enum {name}", *(f"    {member.name} = {member.value!r}" for member in value)]
    if issubclass(value, Exception) or getattr(value, "_is_protocol", False):
        return [f"class {name}"]
    lines = [f"class {name}{signature_of(value)}"]
    for member in sorted(vars(value)):
        found = inspect.getattr_static(value, member)
        if member.startswith("_"):
            continue
        if isinstance(found, property):
            lines.append(f"    {member}")
        elif callable(found) or isinstance(found, classmethod | staticmethod):
            lines.append(f"    {member}{signature_of(getattr(value, member))}")
    return lines


@pytest.mark.golden
def test_public_names_and_signatures(golden: Callable[[Path, str], None]) -> None:
    lines: list[str] = []
    for name in sorted(couler.__all__):
        if name != "__version__":
            lines += describe(name, getattr(couler, name))
    golden(SNAPSHOT, "\n".join(lines) + "\n")
