"""The text that stands for a failure's raw text."""

from __future__ import annotations

from couler.failures.backoff import Backoff
from couler.failures.pattern import Pattern
from couler.failures.recognise import Match


def headline(match: Match) -> str:
    """Return what has happened, in one line.

    Examples
    --------
    >>> from couler.failures import recognise
    >>> headline(recognise("etcdserver: leader changed"))
    'EtcdLeaderChangedErr: etcd elected a new leader, and dropped the requests under way'
    """
    return f"{match.pattern.name}: {match.pattern.means}"


def explain(match: Match) -> str:
    """Return what has happened, whether retrying helps, what to do, and the line of the raw text.

    Examples
    --------
    >>> from couler.failures import recognise
    >>> print(explain(recognise("etcdserver: leader changed")))
    EtcdLeaderChangedErr: etcd elected a new leader, and dropped the requests under way.
    Retrying helps: at most 5 times, with waits of up to 1 s to 16 s.
    If it comes again and again, tell the cluster's administrator: etcd is slow.
    etcd: etcdserver: leader changed
    """
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
    """Return a time as text.

    Examples
    --------
    >>> seconds(90), seconds(600), seconds(0.5)
    ('90 s', '10 min', '0.5 s')
    """
    if count >= 120 and count % 60 == 0:
        return f"{count / 60:g} min"
    return f"{count:g} s"
