"""Names in a manifest: legal for Kubernetes, unique, and as near to the user's as can be."""

from __future__ import annotations

import re

_LEGAL = re.compile(r"[a-zA-Z](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9-]+")
_WORDS = frozenset(
    {"and", "contains", "else", "endsWith", "false", "if", "in", "let", "matches", "nil", "not"}
    | {"or", "startsWith", "true"}
)
"""Words of the language of expressions, in which `depends` is written."""

_TEXT_PLACE = re.compile(
    r"(?:arg|header|value|word)_[0-9]+|(?:container|couler|env|input|metric)_.*|body|cache_salt|url"
)
"""Names of the parameters by which a template takes texts that are no inputs."""


def input_place(name: str) -> str:
    """Return the name of the parameter by which the template of a process takes an input."""
    return f"input_{name}" if _TEXT_PLACE.fullmatch(name) else name


def legal(name: str) -> str:
    """Return a name that Argo takes for templates and tasks."""
    if _LEGAL.fullmatch(name):
        return f"s-{name}" if name in _WORDS else name
    name = _ILLEGAL.sub("-", name).strip("-") or "step"
    # Argo refuses a leading digit where `depends` is used.
    return f"s-{name}" if name[0].isdigit() else name


class Names:
    """Hands out every name once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, wanted: str) -> str:
        """Return a legal name near to the wanted one that was not taken before."""
        base = legal(wanted)
        name, count = base, self._last.get(base, 1)
        while name in self._taken:
            count += 1
            name = f"{base}-{count}"
        self._taken.add(name)
        self._last[base] = count
        return name


class TemplateNames(Names):
    """Hands out names for templates, of which Argo makes the names of pods: in lower case."""

    def take(self, wanted: str) -> str:
        """Return a legal name in lower case, near to the wanted one, that was not taken before."""
        return super().take(wanted.lower())
