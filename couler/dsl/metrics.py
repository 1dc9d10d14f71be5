"""Metrics, as programs write them."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from couler.dsl.conditions import Condition, as_test
from couler.dsl.handles import resolve_in
from couler.ir import policies as ir

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope


@dataclass(frozen=True, slots=True)
class Counter:
    """A metric that grows each time that a step, or a run, ends.

    Attributes
    ----------
    name
        Letters, digits and `_`.
    help
        What it counts, for people.
    value
        By how much: a number (>= 0), a value of the workflow, or a fact such as
        `couler.own.duration_s`.
    labels
        Text, values of the workflow or facts, by name.
    when
        A condition on facts, such as `couler.own.status == "failed"`; None for always.
    """

    name: str
    help: str
    value: object = 1
    labels: Mapping[str, object] = field(default_factory=dict)
    when: Condition | None = None


@dataclass(frozen=True, slots=True)
class Gauge:
    """A metric that is set, or changed, each time that a step, or a run, ends.

    Attributes
    ----------
    name, help, labels, when
        As of a `Counter`.
    value
        A number, a value of the workflow, or a fact such as `couler.own.output("score")`.
    operation
        `set`, `add` or `subtract`.
    realtime
        Give it while the step runs, too; for `couler.own.duration_s` only.
    """

    name: str
    help: str
    value: object
    labels: Mapping[str, object] = field(default_factory=dict)
    when: Condition | None = None
    operation: t.Literal["set", "add", "subtract"] = "set"
    realtime: bool = False


@dataclass(frozen=True, slots=True)
class Histogram:
    """A metric that counts how often values were below each of some bounds.

    Attributes
    ----------
    name, help, labels, when
        As of a `Counter`.
    value
        As of a `Gauge`.
    buckets
        The bounds, growing.
    """

    name: str
    help: str
    value: object
    buckets: Sequence[float]
    labels: Mapping[str, object] = field(default_factory=dict)
    when: Condition | None = None


AnyMetric: t.TypeAlias = Counter | Gauge | Histogram


def read_metrics(scope: Scope, given: object) -> tuple[ir.Metric, ...]:
    """Return the metrics of the IR that an argument `metrics` stands for."""
    metrics: Sequence[object] = given if isinstance(given, list | tuple) else (given,)
    return tuple(_metric(scope, metric) for metric in metrics)


def _metric(scope: Scope, given: object) -> ir.Metric:
    if not isinstance(given, Counter | Gauge | Histogram):
        raise ValueError(f"{given!r:.60} is no couler.Counter, couler.Gauge or couler.Histogram")
    common: dict[str, t.Any] = {
        "name": given.name,
        "help": given.help,
        "value": resolve_in(scope, given.value),
        "labels": tuple(
            ir.MetricLabel(
                name=name, value=text if isinstance(text, str) else resolve_in(scope, text)
            )
            for name, text in given.labels.items()
        ),
        "when": None if given.when is None else as_test(given.when)._build(scope.resolve),
    }
    match given:
        case Counter():
            return ir.Counter(**common)
        case Gauge():
            return ir.Gauge(**common, operation=given.operation, realtime=given.realtime)
        case Histogram():
            return ir.Histogram(**common, buckets=tuple(map(float, given.buckets)))
    t.assert_never(given)
