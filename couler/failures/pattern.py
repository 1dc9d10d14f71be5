"""The failures that are recognised: signs, meaning, help, and retries with their waits."""

from __future__ import annotations

import random as _random
import re
import tomllib
import typing as t
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

System: t.TypeAlias = t.Literal[
    "kubernetes", "etcd", "argo", "airflow", "registry", "storage", "network", "training"
]
"""Whose failure it is."""

Helps: t.TypeAlias = t.Literal["always", "after a wait", "never"]
"""Whether retrying helps; `never` is for never without a change."""

ENGINES: frozenset[str] = frozenset({"argo", "airflow"})
"""Systems whose failures only they tell of; failures of the others reach us through them."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Waits that grow, up to a cap, each drawn at random."""

    first_s: int | float
    factor: int | float
    cap_s: int | float
    tries: int

    def __post_init__(self) -> None:
        if not (0 < self.first_s <= self.cap_s and self.factor >= 1 and self.tries >= 1):
            raise ValueError(f"{self}: needs 0 < first_s <= cap_s, factor >= 1 and tries >= 1")

    def longest_s(self, attempt: int) -> float:
        """Return the most that a wait takes: `first_s * factor**attempt`, at most `cap_s`."""
        try:
            return min(self.first_s * self.factor**attempt, self.cap_s)
        except OverflowError:  # after some thousand retries
            return self.cap_s

    def wait_s(self, attempt: int, random: Callable[[], float] = _random.random) -> float:
        """Return the seconds to wait before a retry."""
        # M. Brooker, "Exponential Backoff and Jitter", AWS Architecture Blog, 2015,
        # https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
        return random() * self.longest_s(attempt)


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


def passing_reasons() -> tuple[str, ...]:
    """Return the reasons of pods that were ended from outside, after which another try helps."""
    signs = _passing_signs("pods")
    return tuple(sorted({one for sign in signs if sign.text is None for one in sign.reasons}))


def passing_statuses() -> tuple[int, ...]:
    """Return the HTTP statuses after which another try helps, whatever the answer says."""
    rows = [pattern for pattern in GROUPS["answers"] if pattern.retry == "after a wait"]
    signs = [sign for pattern in rows for sign in pattern.signs if sign.text is None]
    return tuple(sorted({status for sign in signs for status in sign.http_statuses}))


def passing_pattern() -> str:
    """Return one expression for the messages of attempts that end so that another try helps."""
    never = [pattern.example.message for pattern in PATTERNS if not pattern.helps]
    told = [
        sign.text
        for sign in _passing_signs("pods", "argo", "storage")
        if sign.text is not None and not any(map(sign.search, never))
    ]
    return "(?m)" + "|".join(f"(?:{text})" for text in told).replace(r"\Z", r"\z")


def _passing_signs(*groups: str) -> list[Sign]:
    rows = [pattern for group in groups for pattern in GROUPS[group] if pattern.helps]
    return [sign for pattern in rows for sign in pattern.signs]
