"""What failures of engines mean, whether retrying helps, and with which waits."""

from __future__ import annotations

from couler.failures.decide import Decision, GiveUp, Wait, WatchPolicy, decide
from couler.failures.explain import explain, headline
from couler.failures.pattern import (
    PATTERNS,
    Backoff,
    Failure,
    Pattern,
    Sign,
    passing_pattern,
    passing_reasons,
    passing_statuses,
)
from couler.failures.recognise import Match, first_line, recognise

__all__ = [
    "PATTERNS",
    "Backoff",
    "Decision",
    "Failure",
    "GiveUp",
    "Match",
    "Pattern",
    "Sign",
    "Wait",
    "WatchPolicy",
    "decide",
    "explain",
    "first_line",
    "headline",
    "passing_pattern",
    "passing_reasons",
    "passing_statuses",
    "recognise",
]
