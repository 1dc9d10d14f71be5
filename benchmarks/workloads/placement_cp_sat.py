"""The best plan of a small workload, by constraint programming with CP-SAT."""

from __future__ import annotations

import itertools
import math
import typing as t
from collections.abc import Sequence
from dataclasses import dataclass

from couler.errors import ConfigurationError
from couler.optimizers.placement.compiled import Compiled
from couler.optimizers.placement.problem import Pipeline
from couler.optimizers.placement.requirements import MEMORY_MARGIN, check_placeable
from couler.optimizers.placement.strategy import ClusterState

_TICKS = 10
"""Of a second: durations are rounded down to them, so that the bound stays one."""


@dataclass(frozen=True, slots=True)
class Best:
    """What the solver found."""

    value: float
    bound: float
    is_optimal: bool


def best_plan(
    pipelines: Sequence[Pipeline],
    state: ClusterState,
    *,
    objective: t.Literal["makespan", "waiting"] = "makespan",
    limit_s: float = 30.0,
) -> Best:
    """Return the best plan, and what none can be better than."""
    try:
        from ortools.sat.python import cp_model
    except ImportError as error:
        raise ConfigurationError(
            "the yardstick of placement needs ortools: pip install 'couler[cp]'"
        ) from error
    check_placeable(pipelines, state.cluster.nodes)
    return _Encoding(cp_model, Compiled(pipelines, state, MEMORY_MARGIN)).solve(objective, limit_s)


class _Encoding:
    """Variables and constraints of a workload."""

    def __init__(self, cp_model: t.Any, model: Compiled) -> None:
        self._cp = cp_model
        self._compiled = model
        self._model = cp_model.CpModel()
        self._is_whole = model.rules.dispatch == "pipelines"
        worst = sum(
            max(s for s in row if s < math.inf) + sum(moved for _, moved in before)
            for row, before in zip(model.seconds, model.before, strict=True)
        )
        late = max([free - model.now for free in model.free], default=0.0)
        polls = model.rules.poll_s * (len(model.members) + 2)
        self._horizon = math.ceil((worst + late + polls + 1) * _TICKS)
        self._on: list[dict[int, t.Any]] = []
        self._begin: list[t.Any] = []
        self._end: list[t.Any] = []
        self._on_node: list[list[t.Any]] = [[] for _ in model.nodes]
        self._starts: list[t.Any] = []
        for task in range(len(model.keys)):
            self._add_task(task)
        for number in range(len(model.members)):
            self._add_pipeline(number)
        for node, intervals in enumerate(self._on_node):
            busy = math.floor((model.free[node] - model.now) * _TICKS)
            if busy > 0:
                intervals.append(self._model.new_fixed_size_interval_var(0, busy, f"busy {node}"))
            self._model.add_no_overlap(intervals)
        self._make_alike_interchangeable()

    def _time(self, name: str) -> t.Any:
        return self._model.new_int_var(0, self._horizon, name)

    def _add_task(self, task: int) -> None:
        model, compiled = self._model, self._compiled
        begin, end = self._time(f"begin {task}"), self._time(f"end {task}")
        on: dict[int, t.Any] = {}
        length: t.Any = 0
        for number, seconds in enumerate(compiled.seconds[task]):
            if seconds == math.inf:
                continue
            for node in compiled.classes[number]:
                on[node] = model.new_bool_var(f"{task} on {node}")
                length += on[node] * math.floor(seconds * _TICKS)
        model.add_exactly_one(on.values())
        for source, moved in compiled.before[task]:
            ticks = math.floor(moved * _TICKS)
            model.add(begin >= self._end[source])
            if ticks:
                away = model.new_bool_var(f"{source} to {task}")
                for node, here in on.items():
                    there = self._on[source].get(node)
                    if there is None:
                        model.add_implication(here, away)
                    else:
                        model.add_bool_or(here.negated(), there, away)
                length += away * ticks
        model.add(end == begin + length)
        self._on.append(on)
        self._begin.append(begin)
        self._end.append(end)
        if not self._is_whole:
            for node, here in on.items():
                size = self._time(f"size {task} {node}")
                self._on_node[node].append(
                    model.new_optional_interval_var(begin, size, end, here, f"{task} at {node}")
                )

    def _add_pipeline(self, number: int) -> None:
        """Let a pipeline start, and hold its nodes if it starts as a whole."""
        model, compiled = self._model, self._compiled
        tasks = compiled.members[number]
        start = self._time(f"start {number}")
        self._starts.append(start)
        if not self._is_whole:
            for task in tasks:
                model.add(start <= self._begin[task])
            return
        for task in tasks:
            model.add(start <= self._begin[task])
        poll = round(compiled.rules.poll_s * _TICKS)
        if poll:
            # It starts now, or at a poll.
            now = round(compiled.now * _TICKS)
            at_poll = model.new_int_var(
                0, self._horizon // poll + now // poll + 1, f"poll {number}"
            )
            is_now = model.new_bool_var(f"now {number}")
            model.add(start == 0).only_enforce_if(is_now)
            model.add(start == at_poll * poll - now).only_enforce_if(is_now.negated())
        for node in range(len(compiled.nodes)):
            here = [self._on[task][node] for task in tasks if node in self._on[task]]
            if not here:
                continue
            holds = model.new_bool_var(f"{number} holds {node}")
            until = self._time(f"until {number} {node}")
            size = self._time(f"held {number} {node}")
            for one in here:
                model.add_implication(one, holds)
            model.add_bool_or(*here, holds.negated())
            for task in tasks:
                if node in self._on[task]:
                    model.add(until >= self._end[task]).only_enforce_if(self._on[task][node])
            self._on_node[node].append(
                model.new_optional_interval_var(start, size, until, holds, f"{number} at {node}")
            )

    def _make_alike_interchangeable(self) -> None:
        """Let the first of nodes that are alike have at least as many tasks as the next."""
        for inside in self._compiled.classes:
            for one, other in itertools.pairwise(inside):
                if self._compiled.free[one] == self._compiled.free[other]:
                    counts = [
                        sum(on[node] for on in self._on if node in on) for node in (one, other)
                    ]
                    self._model.add(counts[0] >= counts[1])

    def solve(self, objective: str, limit_s: float) -> Best:
        compiled = self._compiled
        already = 0.0
        if objective == "makespan":
            last = self._time("last")
            for end in self._end:
                self._model.add(last >= end)
            self._model.minimize(last)
            scale = float(_TICKS)
        else:
            self._model.minimize(sum(self._starts))
            count = max(1, len(self._starts))
            scale = float(_TICKS * count)
            already = sum(max(0.0, compiled.now - at) for at in compiled.arrival) / count
        solver = self._cp.CpSolver()
        solver.parameters.max_time_in_seconds = limit_s
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 1
        status = solver.solve(self._model)
        bound = max(0.0, solver.best_objective_bound) / scale + already
        if status not in (self._cp.OPTIMAL, self._cp.FEASIBLE):
            return Best(math.inf, bound, False)
        value = solver.objective_value / scale + already
        return Best(value, bound, status == self._cp.OPTIMAL)
