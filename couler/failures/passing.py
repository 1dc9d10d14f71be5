"""What engines can be told of failures that pass: reasons and statuses, without any text."""

from __future__ import annotations

from couler.failures.tables import api, pods


def passing_reasons() -> tuple[str, ...]:
    """Return the reasons of pods that were ended from outside, after which another try helps.

    Examples
    --------
    >>> {"Evicted", "NodeLost"} <= set(passing_reasons()), "DeadlineExceeded" in passing_reasons()
    (True, False)
    """
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
    """Return the HTTP statuses after which another try helps, whatever the answer says.

    Examples
    --------
    >>> passing_statuses()
    (408, 429, 500, 502, 503, 504)
    """
    rows = [pattern for pattern in api.ANSWERS if pattern.retry == "after a wait"]
    found = {
        status
        for pattern in rows
        for one in pattern.signs
        if one.text is None
        for status in one.http_statuses
    }
    return tuple(sorted(found))
