"""How much of an engine a workflow takes: what one run of it may hold, and what each step costs."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest run that an engine takes, and roughly what dividing a scope into parts costs."""

    scope_steps: int | None = None
    run_bytes: int | None = None
    run_definitions: int | None = None
    takes_runs: bool = False
    steps_in_scope: int = 0
    steps_in_part: int = 0
    steps_per_wait: int = 0
    values_per_part: int | None = None
    bytes_per_part: int = 0
    bytes_per_wait: int = 0
    bytes_per_end: int = 0
    bytes_per_run: int = 0
    definitions_per_run: int = 0
    definitions_of_parts: int = 0
    parts_are_barriers: bool = False
    bounded_parts_in_turn: bool = False

    @property
    def has_any(self) -> bool:
        """Whether there is anything that a workflow can be too large for."""
        most = (self.scope_steps, self.run_bytes, self.run_definitions, self.values_per_part)
        return any(limit is not None for limit in most)


@dataclass(frozen=True, slots=True)
class Cost:
    """What one step takes of its run, with all that is inside of it."""

    size_bytes: int
    definitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """What the steps of a workflow's own scope take."""

    steps: Mapping[str, Cost]
    definition_bytes: Mapping[str, int]
    base_bytes: int


Where: t.TypeAlias = t.Literal["main", "run", "group"]


@dataclass(frozen=True, slots=True)
class Over:
    """Something of which a workflow has more than its engine takes, as it is compiled."""

    where: Where
    name: str
    what: t.Literal["bytes", "definitions", "steps", "values"]
    taken: int
    most: int
    between_runs: int = 0

    @property
    def excess(self) -> float:
        """What it has, as a share of what the engine takes."""
        return self.taken / self.most

    def __str__(self) -> str:
        """Return it as part of a sentence."""
        subject = {
            "main": "the workflow" if not self.between_runs else "the run that starts the others",
            "run": f'the run "{self.name}"',
            "group": f'the group "{self.name}"',
        }[self.where]
        between = ""
        if self.between_runs:
            between = f", {self.between_runs:,} of them for what is handed on between runs"
        return f"{subject} would take {self.taken:,} of {self.most:,} {self.what}{between}"


class Footprint:
    """What a workflow takes as one run; worked out when it is asked for."""

    def __init__(
        self,
        limits: Limits,
        size_bytes: Callable[[], int],
        definitions: Callable[[], int],
        costs: Callable[[], Costs],
        overs: Callable[[], tuple[Over, ...]] | None = None,
        stays: Callable[[], Mapping[str, str]] = dict,
    ) -> None:
        self.limits = limits
        self._overs = overs
        self._stays = stays
        self._size_bytes = size_bytes
        self._definitions = definitions
        self._costs = costs

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of the run as stored, its state included."""
        return self._size_bytes()

    @cached_property
    def definitions(self) -> int:
        """How many definitions it has."""
        return self._definitions()

    @cached_property
    def costs(self) -> Costs:
        """What each step of the workflow's own scope takes."""
        return self._costs()

    @cached_property
    def overs(self) -> tuple[Over, ...]:
        """What there is too much of, with the parts that the steps are in."""
        return self._of_one_run() if self._overs is None else self._overs()

    @cached_property
    def stays(self) -> Mapping[str, str]:
        """The steps of the workflow's own scope that stay in the first run, and why."""
        return self._stays()

    @property
    def fits(self) -> bool:
        """Whether one run may hold it, the lengths of its scopes apart."""
        return not self._of_one_run()

    def _of_one_run(self) -> tuple[Over, ...]:
        found = []
        most = self.limits.run_bytes
        if most is not None and self.size_bytes > most:
            found.append(Over("main", "", "bytes", self.size_bytes, most))
        most = self.limits.run_definitions
        if most is not None and self.definitions > most:
            found.append(Over("main", "", "definitions", self.definitions, most))
        return tuple(found)
