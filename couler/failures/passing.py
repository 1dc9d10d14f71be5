"""What engines can be told of failures that pass."""

from __future__ import annotations

from couler.failures.tables import PATTERNS, api, argo, pods, storage


def passing_reasons() -> tuple[str, ...]:
    """Return the reasons of pods that were ended from outside, after which another try helps."""
    rows = [pattern for pattern in pods.PATTERNS if pattern.helps]
    found = {
        reason
        for pattern in rows
        for one in pattern.signs
        if one.text is None
        for reason in one.reasons
    }
    return tuple(sorted(found))


def passing_statuses() -> tuple[int, ...]:
    """Return the HTTP statuses after which another try helps, whatever the answer says."""
    rows = [pattern for pattern in api.ANSWERS if pattern.retry == "after a wait"]
    found = {
        status
        for pattern in rows
        for one in pattern.signs
        if one.text is None
        for status in one.http_statuses
    }
    return tuple(sorted(found))


def passing_pattern() -> str:
    """Return one expression for the messages of attempts that end so that another try helps."""
    never = [pattern.example.message for pattern in PATTERNS if not pattern.helps]
    texts = [
        one.text
        for table in (pods, argo, storage)
        for pattern in table.PATTERNS
        if pattern.helps
        for one in pattern.signs
        if one.text is not None
    ]
    told = [text.pattern for text in texts if not any(text.search(message) for message in never)]
    return "(?m)" + "|".join(f"(?:{text})" for text in told).replace(r"\Z", r"\z")
