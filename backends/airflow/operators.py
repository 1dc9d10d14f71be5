"""What each kind of step is in a DAG file: an operator, before it is known when it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from couler.backends.airflow.overrides import merged
from couler.backends.airflow.python import Call, Code, Unpacked, call

PYTHON = "airflow.providers.standard.operators.python"
"""Where `PythonOperator` is."""
SENSOR = "airflow.providers.standard.sensors.python"
"""Where `PythonSensor` is."""


@dataclass(frozen=True)
class Operator:
    """An operator of Airflow, and what is particular to it."""

    name: str
    fields: Mapping[str, object]
    unpacked: tuple[Unpacked, ...] = ()
    time_limit: str = "execution_timeout"

    def made(
        self,
        task_id: str | Code,
        policies: Mapping[str, object],
        *,
        is_mapped: bool,
        overrides: Mapping[str, object] | None = None,
    ) -> Call:
        """Return the call that makes the task."""
        policies = dict(policies)
        limit = policies.pop("execution_timeout", None)
        if limit is not None and self.time_limit:
            policies[self.time_limit] = limit
        name = f"{self.name}.partial" if is_mapped else self.name
        given = merged({"task_id": task_id, **self.fields, **policies}, overrides or {})
        made = call(name, **given)
        head = tuple(one for one in made.keywords if one[0] in ("task_id", "image"))
        unpacked = tuple(("", one) for one in self.unpacked)
        rest = tuple(one for one in made.keywords if one not in head)
        return Call(made.function, (), (*head, *unpacked, *rest))


def short(number: float) -> float | int:
    """Return a number as people write it: a whole one without a point."""
    return int(number) if number == int(number) else number
