"""What failures of engines mean, whether retrying helps, and with which waits."""

from __future__ import annotations

from couler.failures.decide import MAX_RETRIES, Decision, GiveUp, Wait, decide
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
    "MAX_RETRIES",
    "PATTERNS",
    "Backoff",
    "Decision",
    "Failure",
    "GiveUp",
    "Match",
    "Pattern",
    "Sign",
    "Wait",
    "decide",
    "explain",
    "first_line",
    "headline",
    "passing_pattern",
    "passing_reasons",
    "passing_statuses",
    "recognise",
]
