"""Texts with holes: only what holds the values themselves, and in a bounded width."""

from __future__ import annotations

import re
import string

_PLAIN = re.compile(r"[A-Za-z0-9_]*", re.ASCII)
_WIDE = re.compile(r"\d{4,}")
_PERCENT = re.compile(r"%(?:\(\w*\))?[-#0 +]*(?:\*|[1-9]\d*)?(?:\.(?:\*|\d*))?[a-zA-Z%]")
"""A zero at the beginning is a flag, and no part of a width: so there is one way to read it."""


def problem_of_format(template: str) -> str | None:
    """Return what is wrong with a template of `str.format`, None if all its holes are plain."""
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        return f"the template cannot be read: {error}"
    for _, name, spec, _ in fields:
        if name is not None and (not _PLAIN.fullmatch(name) or name.startswith("_")):
            return f"the hole {{{name}}} reaches into its value"
        if spec and problem_of_spec(spec):
            return problem_of_spec(spec)
    return None


def problem_of_spec(spec: str) -> str | None:
    """Return what is wrong with how a value is formatted, None if it is short and plain."""
    if "{" in spec:
        return "the format is put together from values"
    return f'the format "{spec:.20}" asks for a very long text' if _WIDE.search(spec) else None


def problem_of_percent(template: str) -> str | None:
    """Return what is wrong with the text on the left of `%`, None if it is short and plain."""
    for found in _PERCENT.findall(template):
        if "*" in found or _WIDE.search(found):
            return f'the format "{found:.20}" asks for a very long text'
    return None
