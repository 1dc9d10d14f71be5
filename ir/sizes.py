"""How much of an engine a workflow takes: what one run of it may hold, and what each step costs.

A backend weighs workflows (`couler.backends.base.Weigher`); passes compare the weights with
the limits, and know no engine.
"""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that one run of an engine takes, and about what dividing a scope into parts costs.

    Whether parts keep the limits is measured (`Footprint.overs`). What they cost by the fields from
    `steps_in_scope` on is a first estimate, with which parts are made that are then measured.

    Attributes
    ----------
    scope_steps
        Most steps of one scope, where a part counts as one; None for no limit.
    run_bytes
        Most bytes of one run as it is stored, its state included; None for no limit.
    run_definitions
        Most definitions of one run (Argo's templates), of which a part is one; None for no limit.
    takes_runs
        Whether parts can have runs of their own.
    steps_in_scope
        What a scope that has parts takes besides, in steps.
    steps_in_part
        What a part takes besides its own steps, in steps.
    steps_per_wait
        What a part takes, in steps, for each step outside of it that its steps wait for, or for
        each of its steps that waits for some outside of it, whichever are fewer.
    values_per_part
        About the most values of steps outside that a part can read; None for no limit.
    bytes_per_part, bytes_per_wait
        The same in bytes of the run. A wait costs in the part that waits and, by half, in the one
        that is waited for.
    bytes_per_end
        What is handed on of the end of a step, where nothing is read from it.
    bytes_per_run, definitions_per_run
        What a part with a run of its own takes of that run besides.
    definitions_of_parts
        What a run that has parts takes besides.
    parts_are_barriers
        Whether a part starts when all parts that it waits for have ended, and not each of its steps
        when it could.
    bounded_parts_in_turn
        Whether the parts of a group that bounds how many of its steps run at once run one after the
        other.
    """

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
    """What one step takes of its run, with all that is inside of it.

    Attributes
    ----------
    size_bytes
        Bytes as stored, state included, without its definitions.
    definitions
        The definitions that it uses; equal names are shared by steps of one run.
    """

    size_bytes: int
    definitions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Costs:
    """What the steps of a workflow's own scope take.

    Attributes
    ----------
    steps
        The steps by name.
    definition_bytes
        Bytes of each definition by its name.
    base_bytes
        What a run takes besides: parameters, exit handlers, what stands around the steps.
    """

    steps: Mapping[str, Cost]
    definition_bytes: Mapping[str, int]
    base_bytes: int


Where: t.TypeAlias = t.Literal["main", "run", "group"]


@dataclass(frozen=True, slots=True)
class Over:
    """Something of which a workflow has more than its engine takes, as it is compiled.

    Attributes
    ----------
    where
        `main` for the run that starts all others, or the only one; `run` for a part with a run of
        its own; `group` for a group of steps.
    name
        Of the part.
    what
        `bytes` as stored, `definitions`, `steps` of one scope, or `values` that a part reads.
    taken, most
        What it has, and what the engine takes.
    between_runs
        How much of it is for what is handed on between runs.
    """

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
    """What a workflow takes as one run; worked out when it is asked for.

    Parameters
    ----------
    limits
        Those of the engine, profile and version.
    size_bytes
        Gives the bytes of the run as stored, its state included.
    definitions
        Gives the count of its definitions.
    costs
        Gives what each step takes; asked of workflows without parts.
    overs
        Gives what the workflow with its parts has too much of. Without it there is one run.
    stays
        Gives the steps of the workflow's own scope that can have no run but the first, each with
        why, as the end of a sentence on several. Without it there are none.

    Examples
    --------
    >>> step = Cost(300, ("train",))
    >>> costs = Costs({"a": step, "b": step}, {"train": 500}, base_bytes=100)
    >>> footprint = Footprint(Limits(run_bytes=1000), lambda: 1200, lambda: 1, lambda: costs)
    >>> footprint.fits
    False
    >>> print(*footprint.overs)
    the workflow would take 1,200 of 1,000 bytes
    """

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
