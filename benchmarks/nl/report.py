"""The tables of an evaluation: pass@k, what went wrong, what a workflow costs."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from benchmarks.nl.evaluating import Result
from benchmarks.nl.judging import OUTCOMES
from benchmarks.nl.metrics import Estimate, Tried, mean_pass_at_k
from benchmarks.nl.records import Sample

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class Score:
    """pass@k of one mode at one temperature."""

    mode: str
    temperature: float
    k: int
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Cost:
    """What a workflow took on average: tokens, money, seconds, calls."""

    tokens: float
    money: float | None
    seconds: float
    calls: float


@dataclass(frozen=True, slots=True)
class Report:
    """The figures of an evaluation."""

    scores: tuple[Score, ...]
    best: tuple[Score, ...]
    outcomes: t.Mapping[str, t.Mapping[str, int]]
    costs: t.Mapping[str, Cost]
    models: tuple[str, ...]
    samples: tuple[int, int]
    missing: int
    not_run: t.Mapping[str, int]
    scripted: bool

    def to_json(self) -> dict[str, t.Any]:
        """Return the figures as JSON."""
        return {
            "schema_version": SCHEMA_VERSION,
            "scripted": self.scripted,
            "models": list(self.models),
            "samples_per_task": {"fewest": self.samples[0], "most": self.samples[1]},
            "missing": self.missing,
            "pass_at_k": [_score_json(score) for score in self.scores],
            "best": [_score_json(score) for score in self.best],
            "outcomes": {name: dict(counts) for name, counts in self.outcomes.items()},
            "cost_per_workflow": {name: asdict(cost) for name, cost in self.costs.items()},
            "not_run": dict(self.not_run),
        }


def report_of(result: Result, ks: Iterable[int]) -> Report:
    """Return the figures of an evaluation for some k; a k above the number of answers has none."""
    plan, samples = result.plan, result.samples
    scores: list[Score] = []
    best: list[Score] = []
    for mode in plan.modes:
        for k in ks:
            found = []
            for temperature in plan.temperatures:
                tried = _tried(samples, mode, temperature)
                estimate = mean_pass_at_k(tried, k, seed=plan.seed)
                if estimate is not None:
                    found.append(Score(mode, temperature, k, estimate))
            scores += found
            if found:
                best.append(max(found, key=lambda score: score.estimate.value))
    by_mode = {name: [one for one in samples if one.mode == name] for name in plan.modes}
    counts = Counter((one.item, one.description, one.mode, one.temperature) for one in samples)
    numbers = list(counts.values()) or [0]
    return Report(
        tuple(scores),
        tuple(best),
        {name: _outcomes(found) for name, found in by_mode.items() if found},
        {name: _cost(found) for name, found in by_mode.items() if found},
        tuple(sorted({one.model for one in samples if one.model})),
        (min(numbers), max(numbers)),
        result.missing,
        Counter(one.not_run for one in samples if one.not_run is not None),
        result.is_scripted,
    )


def _tried(samples: Sequence[Sample], mode: str, temperature: float) -> list[Tried]:
    tasks: dict[tuple[str, int], list[bool]] = {}
    for one in samples:
        if (one.mode, one.temperature) == (mode, temperature):
            task = (one.item, one.description)
            tasks.setdefault(task, []).append(one.outcome == "right")
    return [Tried(item, len(right), sum(right)) for (item, _), right in tasks.items()]


def _outcomes(samples: Sequence[Sample]) -> dict[str, int]:
    counts = Counter(one.outcome for one in samples)
    return {outcome: counts[outcome] for outcome in OUTCOMES}


def _cost(samples: Sequence[Sample]) -> Cost:
    money = [one.usage.cost for one in samples if one.usage.cost is not None]
    return Cost(
        fmean(one.usage.tokens for one in samples),
        fmean(money) if len(money) == len(samples) else None,
        fmean(one.usage.seconds for one in samples),
        fmean(one.usage.calls for one in samples),
    )


def _score_json(score: Score) -> dict[str, t.Any]:
    value, low, high, tasks = score.estimate
    return {
        "mode": score.mode,
        "temperature": score.temperature,
        "k": score.k,
        "pass": value,
        "low": low,
        "high": high,
        "tasks": tasks,
    }
