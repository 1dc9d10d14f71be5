"""What steps ask for: processors, memory, disk and devices."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable, Mapping

from couler.dsl import objects, units
from couler.dsl.checks import OptionError, attempt, attempt_each
from couler.ir import policies

if t.TYPE_CHECKING:
    from couler.dsl.builder import Builder

Number: t.TypeAlias = int | float | str
"""An amount: a number, or a Kubernetes quantity such as `"500m"` or `"1Gi"`."""


def read_resources(
    builder: Builder, given: Mapping[str, t.Any], step: str
) -> policies.Resources | None:
    """Return what a step asks for by its options; report amounts that are wrong."""
    base = given.get("resources")
    if isinstance(base, policies.Resources):
        values: dict[str, t.Any] = {name: getattr(base, name) for name in base.model_fields_set}
    else:
        values = _ancestor_resources(builder, {} if base is None else base, step)
    values.update(attempt_each(builder, _AMOUNTS, given, step))
    present = {name: value for name, value in values.items() if value is not None}
    return attempt(builder, "resources", lambda: policies.Resources(**present), step)


def _ancestor_resources(builder: Builder, amounts: t.Any, step: str) -> dict[str, t.Any]:
    """Read a dict of requests that are limits as well."""
    if not isinstance(amounts, Mapping):
        message = f'step "{step}": resources: {amounts!r:.80} is no dict of resources and amounts'
        builder.report("CLR105", message, step=step)
        return {}
    values: dict[str, t.Any] = {}
    other: dict[str, str] = {}
    for name, amount in amounts.items():
        read = functools.partial(_ancestor_amount, str(name), amount)
        found = attempt(builder, f"resources: {name}", read, step) or {}
        other.update(found.pop("other", {}))
        values.update(found)
    if other:
        values["other"] = other
    return values


def _ancestor_amount(name: str, amount: t.Any) -> dict[str, t.Any]:
    """Return the fields of the IR's resources that an entry of the ancestor's dict stands for."""
    if name in ("cpu", "memory"):
        return dict.fromkeys((name, f"{name}_limit"), _AMOUNTS[name](amount))
    if name in ("disk", "ephemeral-storage"):
        return {"disk": units.memory(amount)}
    if name == "gpu" and isinstance(amount, objects.Gpu | policies.Gpu):
        return {"gpu": _gpu(amount)}
    if name == "gpu":
        return {"gpu": _gpu(_whole(amount))}
    if name.endswith("/gpu"):
        return {"gpu": policies.Gpu(count=_whole(amount), resource=name)}
    return {"other": {name: units.quantity(amount)}}


def _whole(amount: object) -> int:
    """Return a number of devices, which the ancestor's programs also write as text."""
    text = str(amount).strip()
    if isinstance(amount, bool) or not text.isdecimal():
        raise OptionError(f"{amount!r} is no whole number of at least 0")
    return int(text)


def _gpu(value: object) -> policies.Gpu:
    if isinstance(value, objects.Gpu):
        return policies.Gpu(count=value.count, type=value.type, resource=value.resource)
    if isinstance(value, policies.Gpu):
        return value
    if isinstance(value, bool) or not isinstance(value, int):
        raise OptionError(f'gpu={value!r}: write a number or couler.Gpu(1, "a100")')
    return policies.Gpu(count=value)


_AMOUNTS: dict[str, Callable[[t.Any], t.Any]] = {
    "cpu": units.quantity,
    "memory": units.memory,
    "disk": units.memory,
    "gpu": _gpu,
}
