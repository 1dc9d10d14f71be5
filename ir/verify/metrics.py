"""Rules for metrics."""

from __future__ import annotations

import itertools
import re
import typing as t
from collections.abc import Iterable

from couler.ir.metrics import Counter, Gauge, Histogram, Metric
from couler.ir.values import Field, Literal, OwnRef, Value, walk
from couler.ir.verify.own import Facts, check_own_condition
from couler.ir.verify.types import FILE_TYPES
from couler.ir.verify.values import Reader

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def check_metrics(reader: Reader, metrics: Iterable[Metric], facts: Facts) -> None:
    """Check the metrics of a step or of a workflow, which read facts of it."""
    for metric in metrics:
        field = f"metrics.{metric.name}"
        for problem in _problems(metric):
            reader.add("CLR431", f"{field} {problem}.")
        with reader.reading(facts):
            _check_number(reader, metric.value, field)
            _check_labels(reader, metric, field)
        if metric.when is not None:
            check_own_condition(reader, metric.when, f"{field}.when", facts)


def _problems(metric: Metric) -> t.Iterator[str]:
    if _NAME.fullmatch(metric.name) is None:
        yield 'has a name with other characters than letters, digits and "_"'
    if not metric.help.strip():
        yield "has no help. Say what it counts"
    match metric:
        case Counter():
            if isinstance(metric.value, Literal) and _is_negative(metric.value.value):
                yield "counts down, but a counter only grows. Use a gauge"
        case Gauge():
            if metric.realtime and metric.value != OwnRef(fact="duration_s"):
                yield (
                    "is given while the step runs, when only its duration is known. Take "
                    "duration_s, or leave realtime out"
                )
        case Histogram():
            if not metric.buckets:
                yield "has no buckets. Name their bounds"
            if any(after <= before for before, after in itertools.pairwise(metric.buckets)):
                yield "has buckets whose bounds do not grow"
        case _:
            t.assert_never(metric)


def _is_negative(value: object) -> bool:
    return isinstance(value, int | float) and value < 0


def _check_number(reader: Reader, value: Value, field: str) -> None:
    kind = reader.kind(value, field)
    if isinstance(value, Literal) and isinstance(value.value, str):
        reader.add("CLR431", f'{field} has the text "{value.value}" as its value, not a number.')
    elif kind.family not in ("number", "str", "json") or value == OwnRef(fact="status"):
        what = "status" if isinstance(value, OwnRef) else str(kind)
        reader.add("CLR431", f"{field} has a value of type {what}, not a number.")
    _check_shape(reader, value, field)


def _check_labels(reader: Reader, metric: Metric, field: str) -> None:
    seen: set[str] = set()
    for label in metric.labels:
        if _NAME.fullmatch(label.name) is None:
            reader.add(
                "CLR431",
                f'{field} has a label "{label.name}": a name has letters, digits and "_" only.',
            )
        if label.name in seen:
            reader.add("CLR151", f'{field} has the label "{label.name}" twice. Remove one.')
        seen.add(label.name)
        if not isinstance(label.value, str):
            place = f"{field}.{label.name}"
            kind = reader.kind(label.value, place)
            if kind.type in FILE_TYPES:
                reader.not_a_file(kind, place)
            _check_shape(reader, label.value, place)


def _check_shape(reader: Reader, value: Value, field: str) -> None:
    """Refuse facts of the step within other values than parts of them."""
    inner = value.of if isinstance(value, Field) else value
    if isinstance(inner, OwnRef):
        return
    if any(isinstance(part, OwnRef) for part in walk(value)):
        reader.add(
            "CLR432",
            f"{field} mixes a fact of the step with other values. Give each a label of its own.",
        )
