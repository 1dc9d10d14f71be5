"""The text that stands for a failure's raw text."""

from __future__ import annotations

from couler.failures.pattern import Backoff, Pattern
from couler.failures.recognise import Match


def headline(match: Match) -> str:
    """Return what has happened, in one line."""
    return f"{match.pattern.name}: {match.pattern.means}"


def explain(match: Match) -> str:
    """What has happened, whether retrying helps, what to do, and the line of the raw text."""
    pattern = match.pattern
    lines = [f"{headline(match)}.", retry_sentence(pattern), pattern.advice]
    if match.line:
        prefix = f"{pattern.system}: "  # the text may be an explanation itself
        lines.append(prefix + match.line.removeprefix(prefix))
    return "\n".join(lines)


def retry_sentence(pattern: Pattern) -> str:
    """Return whether and how retrying helps, as a sentence."""
    backoff = pattern.backoff
    if backoff is None:
        return "Retrying does not help without a change."
    how = "Retrying helps" if pattern.retry == "always" else "Retrying helps after a wait"
    times = "once" if backoff.tries == 1 else f"at most {backoff.tries} times"
    return f"{how}: {times}, with {waits(backoff)}."


def waits(backoff: Backoff) -> str:
    """Return the range of the longest waits, as text."""
    first, last = backoff.longest_s(0), backoff.longest_s(backoff.tries - 1)
    if first == last:
        return f"waits of up to {seconds(first)}"
    return f"waits of up to {seconds(first)} to {seconds(last)}"


def seconds(count: float) -> str:
    """Return a time as text."""
    if count >= 120 and count % 60 == 0:
        return f"{count / 60:g} min"
    return f"{count:g} s"
