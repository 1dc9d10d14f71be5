"""What verification reports: a code, a place, what is wrong and how to mend it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable
from dataclasses import dataclass

from couler.ir.policies import SourceRef

Severity: t.TypeAlias = t.Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One problem of a workflow."""

    code: str
    message: str
    step: str | None = None
    source: SourceRef | None = None
    severity: Severity = "error"
    of_target: bool = False

    def __str__(self) -> str:
        place = f"{self.source}  " if self.source is not None else ""
        return f"{place}{self.code} {self.severity}  {self.message}"

    def to_json(self) -> dict[str, t.Any]:
        """Return the diagnostic as JSON: code, severity, message, step, file, line."""
        return {
            "code": self.code,
            "severity": self.severity,
            "message": self.message,
            "step": self.step,
            "file": self.source.file if self.source else None,
            "line": self.source.line if self.source else None,
        }


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint that names the nearest known name, with a blank before it, or nothing."""
    import difflib

    near = difflib.get_close_matches(name, list(known), n=1)
    return f' Did you mean "{near[0]}"?' if near else ""
