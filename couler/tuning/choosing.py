"""Which candidate is chosen, and why, in one sentence."""

from __future__ import annotations

from couler.errors import TuningError
from couler.tuning.outcome import Candidate, Outcome, ranked


def best_of(outcome: Outcome) -> Outcome:
    """Return an outcome with the best of its candidates chosen, and why."""
    predicted = ranked(outcome.candidates, outcome.metric)
    trained = ranked(outcome.candidates, outcome.metric, is_real=True)
    chosen = trained[0] if trained else predicted[0]
    why = _why(chosen, len(predicted), len(trained), outcome)
    update = {"chosen": chosen.name, "parameters": chosen.parameters, "why": why}
    return outcome.model_copy(update=update)


def _number(value: float | None) -> float:
    if value is None:  # callers ask for those that have one
        raise TuningError("a candidate without a value has no rank")
    return value


def _why(chosen: Candidate, predicted: int, trained: int, outcome: Outcome) -> str:
    name = outcome.metric.name
    left_out = len(outcome.candidates) - predicted
    of = f"{predicted}" if predicted > 1 else "1"
    if trained:
        means = f"best of {trained} by real training, {name} {_number(chosen.real_mean):.4g}"
        if chosen.predicted is not None:
            means += f"; predicted {chosen.predicted:.4g}, with logs of {predicted}"
    else:
        means = f"best of {of} by predicted {name} {_number(chosen.predicted):.4g}"
    if left_out:
        means += f"; {left_out} left out for their logs"
    return means + ("; predictions ended early" if outcome.missing else "")
