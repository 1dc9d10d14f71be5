"""Names of templates: legal for Kubernetes, unique, and as near to the user's as can be."""

from __future__ import annotations

import re

_LEGAL = re.compile(r"[a-zA-Z](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?")
_ILLEGAL = re.compile(r"[^a-zA-Z0-9-]+")


def legal(name: str) -> str:
    """Return a name that Argo takes for templates and tasks.

    Examples
    --------
    >>> legal("train_model"), legal("2nd"), legal("évaluer")
    ('train-model', 's-2nd', 'valuer')
    """
    if _LEGAL.fullmatch(name):
        return name
    name = _ILLEGAL.sub("-", name).strip("-") or "step"
    # Argo refuses a leading digit where `depends` is used.
    return f"s-{name}" if name[0].isdigit() else name


class Names:
    """Hands out every name once.

    Examples
    --------
    >>> names = Names()
    >>> names.take("train"), names.take("train"), names.take("Train")
    ('train', 'train-2', 'Train')
    """

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
