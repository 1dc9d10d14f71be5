"""Metrics of templates and workflows."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Sequence

from couler.backends.argo.conditions import Conditions
from couler.backends.argo.own import Own
from couler.backends.argo.pods import Tree
from couler.backends.argo.tags import tag, wire_text
from couler.ir.policies import Counter, Gauge, Histogram, Metric, is_own
from couler.ir.values import Literal, Text, Value

_OPERATIONS = {"set": "Set", "add": "Add", "subtract": "Sub"}


def value_hole(metric: Metric) -> str:
    """Return the name of the place for the value of a metric."""
    return f"metric_{metric.name}"


def label_hole(metric: Metric, label: str) -> str:
    """Return the name of the place for the value of a label."""
    return f"metric_{metric.name}_{label}"


def is_hole(text: Text) -> bool:
    """Return whether a text of a metric is known only to the step that the metric belongs to."""
    return not isinstance(text, str | Literal) and not is_own(text)


def metrics(given: Sequence[Metric], own: Own, plain: Callable[[str], str]) -> Tree:
    """Return the `metrics` of a template or of a workflow."""
    return {"prometheus": [_metric(metric, own, plain) for metric in given]}


def _metric(metric: Metric, own: Own, plain: Callable[[str], str]) -> Tree:
    tree: Tree = {"name": metric.name, "help": metric.help}
    if metric.labels:
        tree["labels"] = [
            {
                "key": label.name,
                "value": _text(label.value, label_hole(metric, label.name), own, plain),
            }
            for label in metric.labels
        ]
    if metric.when is not None:
        tree["when"] = tag(Conditions(own).expression(metric.when))
    value = _text(metric.value, value_hole(metric), own, plain)
    match metric:
        case Counter():
            tree["counter"] = {"value": value}
        case Gauge():
            tree["gauge"] = {
                "value": value,
                "realtime": metric.realtime,
                "operation": _OPERATIONS[metric.operation],
            }
        case Histogram():
            tree["histogram"] = {"value": value, "buckets": list(metric.buckets)}
        case _:
            t.assert_never(metric)
    return tree


def _text(text: Text, hole: str, own: Own, plain: Callable[[str], str]) -> str:
    if isinstance(text, str):
        return text
    if isinstance(text, Literal):
        return wire_text(text.value)
    if is_own(text):
        return own.tag(t.cast("Value", text))
    return plain(hole)
