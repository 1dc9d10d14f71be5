"""What engines can be told of failures that pass."""

from __future__ import annotations

from couler.failures.pattern import GROUPS, PATTERNS, Sign


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
