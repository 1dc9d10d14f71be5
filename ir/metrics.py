"""Metrics that steps and workflows give to the monitoring of their engine."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from pydantic import Field as ModelField

from couler.ir.base import Node, Variant
from couler.ir.conditions import Condition
from couler.ir.features import Feature
from couler.ir.values import OwnRef, Text, Value, walk


class MetricLabel(Node):
    """A label of a metric: plain text, a value of the workflow, or a fact of the step itself."""

    name: str
    value: Text


class _Metric(Variant):
    name: str
    help: str
    """For people; all metrics of one name have the same."""
    value: Value
    labels: tuple[MetricLabel, ...] = ()
    when: Condition | None = None
    """Compares facts of the step itself (`OwnRef`) and literals."""


class Counter(_Metric):
    """A number that only grows: by a value, each time that a step ends."""

    kind: t.Literal["counter"] = "counter"


class Gauge(_Metric):
    """A number that is set, or changed by a value, each time that a step ends."""

    kind: t.Literal["gauge"] = "gauge"
    operation: t.Literal["set", "add", "subtract"] = "set"
    realtime: bool = False
    """Given while the step runs, for its duration only."""


class Histogram(_Metric):
    """How often values fell below each of some bounds."""

    kind: t.Literal["histogram"] = "histogram"
    buckets: tuple[float, ...]
    """The bounds, growing."""


Metric = t.Annotated[Counter | Gauge | Histogram, ModelField(discriminator="kind")]


def is_own(text: Text) -> bool:
    """Return whether a text reads facts of the step itself, so nothing of other steps."""
    return any(isinstance(value, OwnRef) for value in walk(text))


def metric_texts(metrics: tuple[Metric, ...]) -> Iterator[tuple[str, Text]]:
    """Yield the values of metrics and of their labels, each with the field that reads it."""
    for metric in metrics:
        yield f"metrics.{metric.name}", metric.value
        for label in metric.labels:
            yield f"metrics.{metric.name}.{label.name}", label.value


def metric_features(metric: Metric) -> Iterator[Feature]:
    """Yield the features that a metric asks of an engine beyond that it is one."""
    if isinstance(metric, Gauge) and metric.realtime:
        yield Feature.METRIC_REALTIME
