"""Search spaces: hyperparameters and the values that each can have."""

from __future__ import annotations

import itertools
import json
import typing as t
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import Field, model_validator

from couler.config_files import Table, shown
from couler.errors import TuningError
from couler.ir.base import FrozenDict, Json, JsonMap
from couler.ir.diagnostics import did_you_mean
from couler.ir.values import is_same
from couler.tuning.reading import parse_sheet, read_text

_LARGEST = 2**53
"""Every whole number up to it is one of JSON for all readers."""

Setting: t.TypeAlias = Mapping[str, t.Any]
"""A value for each hyperparameter that a candidate has."""


class Parameter(Table):
    """The values that a hyperparameter can have: a list of them, or a range."""

    values: t.Annotated[tuple[Json, ...], Field(min_length=1, max_length=1000)] | None = None
    type: t.Literal["int", "float"] | None = None
    low: float | None = None
    high: float | None = None
    log: bool = False
    default: Json = None
    when: JsonMap = FrozenDict()

    @model_validator(mode="after")
    def _check(self) -> t.Self:
        if self.values is None and self.low is None and self.high is None:
            raise ValueError("give values, or low and high")
        if self.values is not None:
            if self.type is not None or self.low is not None or self.high is not None or self.log:
                raise ValueError("type, low, high and log are of ranges, and values are given")
            if (double := _first_double(self.values)) is not None:
                raise ValueError(f"values: {short(double[0])} is there twice")
        else:
            self._check_range()
        if self.has_default and (problem := self.problem(self.default)):
            raise ValueError(f"the default {problem}")
        for other, wanted in self.when.items():
            if not isinstance(wanted, tuple):
                raise ValueError(f"when: {other} has a list of values, not {shown(wanted)}")
        return self

    def _check_range(self) -> None:
        if self.low is None or self.high is None:
            raise ValueError("a range has low and high")
        if not self.low < self.high:
            raise ValueError(f"low ({self.low:g}) is not below high ({self.high:g})")
        if self.log and self.low <= 0:
            raise ValueError(f"a range that is even in the logarithm has low above 0: {self.low:g}")
        if self.type == "int" and not (self.low.is_integer() and self.high.is_integer()):
            raise ValueError("low and high of an int are whole numbers")
        if self.type == "int" and max(abs(self.low), abs(self.high)) > _LARGEST:
            raise ValueError(f"low and high of an int are at most {_LARGEST:,}")

    @property
    def has_default(self) -> bool:
        """Whether there is one; None can be one if it is among the values."""
        return "default" in self.model_fields_set

    def problem(self, value: object) -> str | None:
        """Return why something is no value of this one, to be read after its name; or None."""
        if self.values is not None:
            if any(is_same(value, one) for one in self.values):
                return None
            known = ", ".join(_shown(one) for one in self.values)
            return f"is {short(value)}; it is one of {known:.300}"
        low, high = self._range()
        is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        kind = "a whole number" if self.type == "int" else "a number"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"is {short(value)}; it is {kind}"
        if value != value or (self.type == "int" and not is_whole):
            return f"is {value}; it is {kind}"
        if not low <= value <= high:  # exact for whole numbers that no float can hold
            return f"is {short(value)}; it is from {low:g} to {high:g}"
        return None

    def exact(self, value: t.Any) -> t.Any:
        """Return a right value as the space has it: 3 for 3.0 of an int."""
        if self.values is not None:
            return next(one for one in self.values if is_same(value, one))
        return int(value) if self.type == "int" else float(value)

    def _range(self) -> tuple[float, float]:
        if self.low is None or self.high is None:
            raise TuningError("a parameter with values has no range")
        return self.low, self.high


class SearchSpace(Table):
    """Hyperparameters with their values."""

    parameters: dict[str, Parameter]

    @model_validator(mode="after")
    def _check(self) -> t.Self:
        if not self.parameters:
            raise ValueError("parameters: there is none")
        for name, one in self.parameters.items():
            if not name.isidentifier():
                raise ValueError(f'parameters: "{name}" is no name of a parameter')
            for other, wanted in one.when.items():
                self._check_condition(name, other, wanted)
        return self

    def _check_condition(self, name: str, other: str, wanted: Sequence[object]) -> None:
        known = [*itertools.takewhile(lambda one: one != name, self.parameters)]
        if other not in known:
            raise ValueError(
                f"parameters.{name}: when names {other}, which is not above it."
                f"{did_you_mean(other, known)}"
            )
        for value in wanted:
            if problem := self.parameters[other].problem(value):
                raise ValueError(f"parameters.{name}: when: {other} {problem}")

    @property
    def default(self) -> dict[str, t.Any] | None:
        """The defaults of all that are there by default; None where one has none."""
        found: dict[str, t.Any] = {}
        for name, one in self.parameters.items():
            if not self.is_there(one, found):
                continue
            if not one.has_default:
                return None
            found[name] = one.exact(one.default)
        return found

    @property
    def conditions(self) -> dict[str, dict[str, tuple[t.Any, ...]]]:
        """The `when` of each that has one."""
        return {name: dict(one.when) for name, one in self.parameters.items() if one.when}

    def problems(self, setting: Setting) -> list[str]:
        """Return why a candidate is none of the space, each in words; nothing if it is one."""
        found: list[str] = []
        for name, one in self.parameters.items():
            is_there = self.is_there(one, setting)
            if name not in setting:
                if is_there:
                    found.append(f"{name} is missing")
            elif not is_there:
                found.append(f"{name} is only there when {_condition(one)}")
            elif problem := one.problem(setting[name]):
                found.append(f"{name} {problem}")
        return found + [
            f'there is no "{name}".{did_you_mean(name, self.parameters)}'
            for name in setting
            if name not in self.parameters
        ]

    def exact(self, setting: Setting) -> dict[str, t.Any]:
        """Return a right candidate in the order and the types of the space."""
        return {
            name: one.exact(setting[name])
            for name, one in self.parameters.items()
            if name in setting
        }

    def for_prompt(self) -> dict[str, t.Any]:
        """Return what a prompt tells of the space."""
        keep = {"values", "type", "low", "high", "log", "when"}
        return {
            name: one.model_dump(include=keep, exclude_defaults=True)
            | ({"default": one.default} if one.has_default else {})
            for name, one in self.parameters.items()
        }

    def is_there(self, one: Parameter, setting: Setting) -> bool:
        """Return whether a setting has a parameter, by the values of those above it."""
        return all(
            name in setting and any(is_same(setting[name], value) for value in wanted)
            for name, wanted in one.when.items()
        )


def key_of(setting: Setting) -> str:
    """Return a text that is the same for the same candidate."""
    return json.dumps(setting, sort_keys=True, default=list)


def short(value: object) -> str:
    """Return a value as it is told in a line; of a very long number how long it is."""
    if isinstance(value, int) and abs(value) > 10**300:  # too large for a float, or to be printed
        return f"a number {'above 1e+300' if value > 0 else 'below -1e+300'}"
    return str(value) if isinstance(value, float) else f"{_shown(value):.60}"


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=list)


def _first_double(values: Sequence[object]) -> tuple[object] | None:
    """Return the first value that was there before, by `is_same`; in a tuple, since None is one."""
    seen: set[str] = set()
    for one in values:
        key = json.dumps(_canonical(one), sort_keys=True)
        if key in seen:
            return (one,)
        seen.add(key)
    return None


def _canonical(value: t.Any) -> t.Any:
    """Return a value that is written in one way, as `is_same` compares: 1 for 1.0."""
    if isinstance(value, Mapping):
        return {key: _canonical(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _condition(one: Parameter) -> str:
    return " and ".join(f"{name} is one of {_shown(values)}" for name, values in one.when.items())


def parse_space(text: str, *, where: str = "search space") -> SearchSpace:
    """Return the search space that a text of YAML describes."""
    return parse_sheet(SearchSpace, text, where)


def read_space(path: Path) -> SearchSpace:
    """Read a search space."""
    return parse_space(read_text(path, "search space"), where=str(path))
