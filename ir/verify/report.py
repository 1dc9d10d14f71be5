"""Collecting diagnostics, each with its place in program order."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from couler.ir.diagnostics import Diagnostic, Severity, did_you_mean
from couler.ir.policies import SourceRef

if t.TYPE_CHECKING:
    from couler.ir.verify.places import Use

Order: t.TypeAlias = tuple[int, ...]
"""Place in program order: positions from the outside in; a prefix comes first."""


MAX_HINTS = 20
"""After so many no more nearest names are looked for: each takes time linear in the names."""


class Report:
    """The problems found so far; the same one is kept once."""

    def __init__(self) -> None:
        self.places: list[Use] = []
        self._found: dict[Diagnostic, Order] = {}
        self._told: set[object] = set()
        self._hints_left = MAX_HINTS

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Return a hint that names the nearest known name; nothing after many hints."""
        if self._hints_left == 0:
            return ""
        self._hints_left -= 1
        return did_you_mean(name, known)

    def add(
        self,
        code: str,
        message: str,
        *,
        order: Order,
        step: str | None = None,
        source: SourceRef | None = None,
        severity: Severity = "error",
        once: object = None,
    ) -> None:
        """Add a problem; of those that are equal in `once`, which is not None, only the first."""
        if once is not None:
            if once in self._told:
                return
            self._told.add(once)
        diagnostic = Diagnostic(code, message, step=step, source=source, severity=severity)
        self._found.setdefault(diagnostic, order)

    def in_program_order(self) -> tuple[Diagnostic, ...]:
        """Return the problems in program order; those of one step as they were found."""
        return tuple(sorted(self._found, key=self._found.__getitem__))
