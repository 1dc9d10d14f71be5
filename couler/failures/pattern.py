"""A recognised failure: by which signs it is known, what it means, what helps."""

from __future__ import annotations

import re
import typing as t
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Sign:
    """What a failure is known by: it has all that is stated here."""

    text: re.Pattern[str] | None = None
    reasons: frozenset[str] = frozenset()
    http_statuses: frozenset[int] = frozenset()
    exit_codes: frozenset[int] = frozenset()
    in_log: bool = False

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
            found = self.text.search(text)
            if found is not None:
                return _line_around(text, found.start())
        return None


def sign(
    text: str | None = None,
    *,
    reason: str | tuple[str, ...] = (),
    http: int | tuple[int, ...] = (),
    exit_code: int | tuple[int, ...] = (),
    in_log: bool = False,
) -> Sign:
    """Return a sign; its regular expression is compiled for lines."""
    one = Sign(
        text=None if text is None else re.compile(text, re.MULTILINE),
        reasons=frozenset((reason,) if isinstance(reason, str) else reason),
        http_statuses=frozenset((http,) if isinstance(http, int) else http),
        exit_codes=frozenset((exit_code,) if isinstance(exit_code, int) else exit_code),
        in_log=in_log,
    )
    if one == Sign(in_log=in_log):
        raise ValueError("a sign states nothing, so it would fit every failure")
    return one


@dataclass(frozen=True, slots=True)
class Pattern:
    """A row of the table of failures."""

    name: str
    system: System
    signs: tuple[Sign, ...]
    example: Failure
    means: str
    retry: Helps
    backoff: Backoff | None
    advice: str
    source: str

    def __post_init__(self) -> None:
        if (self.retry == "never") != (self.backoff is None):
            raise ValueError(f"{self.name}: has a back-off if and only if retrying helps")
        if not self.signs:
            raise ValueError(f"{self.name}: has no sign")

    @property
    def helps(self) -> bool:
        """Whether retrying helps without a change."""
        return self.backoff is not None


def _line_around(text: str, index: int) -> str:
    start = text.rfind("\n", 0, index) + 1
    end = text.find("\n", index)
    return text[start : end if end >= 0 else len(text)].strip()
