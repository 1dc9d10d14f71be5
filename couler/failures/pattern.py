"""The failures that are recognised: their signs, what they mean, and what helps."""

from __future__ import annotations

import re
import tomllib
import typing as t
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from couler.failures.backoff import Backoff

System: t.TypeAlias = t.Literal[
    "kubernetes", "etcd", "argo", "airflow", "registry", "storage", "network", "training"
]
"""Whose failure it is."""

Helps: t.TypeAlias = t.Literal["always", "after a wait", "never"]
"""Whether retrying helps; `never` is for never without a change."""

ENGINES: frozenset[str] = frozenset({"argo", "airflow"})
"""Systems whose failures only they tell of; failures of the others reach us through them."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What is known of a failure."""

    message: str = ""
    reason: str | None = None
    exit_code: int | None = None
    http_status: int | None = None
    log: str = ""


class Sign(BaseModel, frozen=True, extra="forbid"):
    """What a failure is known by: it has all that is stated here."""

    text: str | None = None
    """A regular expression of lines."""
    reasons: frozenset[str] = frozenset()
    http_statuses: frozenset[int] = frozenset()
    exit_codes: frozenset[int] = frozenset()
    in_log: bool = False

    def search(self, text: str) -> re.Match[str] | None:
        """Search a text for the regular expression."""
        return None if self.text is None else re.search(self.text, text, re.MULTILINE)

    def find(self, failure: Failure) -> str | None:
        """Return the line by which it is known, the empty text if by no text; None if it is not."""
        if self.reasons and failure.reason not in self.reasons:
            return None
        if self.http_statuses and failure.http_status not in self.http_statuses:
            return None
        if self.exit_codes and failure.exit_code not in self.exit_codes:
            return None
        if self.text is None:
            return ""
        for text in (failure.message, failure.log if self.in_log else ""):
            found = self.search(text)
            if found is not None:
                return _line_around(text, found.start())
        return None


class Pattern(BaseModel, frozen=True, extra="forbid"):
    """A row of `patterns.toml`."""

    name: str
    system: System
    signs: tuple[Sign, ...]
    example: Failure
    means: str
    retry: Helps
    backoff: Backoff | None = None
    advice: str
    source: str

    @property
    def helps(self) -> bool:
        """Whether retrying helps without a change."""
        return self.backoff is not None


def _line_around(text: str, index: int) -> str:
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", index)
    return text[start : end if end >= 0 else len(text)].strip()


def _read_table() -> dict[str, tuple[Pattern, ...]]:
    """Read the rows of `patterns.toml` by their groups."""
    text = Path(__file__).with_name("patterns.toml").read_text(encoding="utf-8")
    groups = tomllib.loads(text)
    backoffs = groups.pop("backoffs") | {None: None}
    return {
        group: tuple(Pattern(**row | {"backoff": backoffs[row.get("backoff")]}) for row in rows)
        for group, rows in groups.items()
    }


GROUPS = _read_table()
"""All rows by their groups."""

PATTERNS = tuple(pattern for rows in GROUPS.values() for pattern in rows)
"""All rows, in the order in which they are tried: the first that fits is the failure."""
