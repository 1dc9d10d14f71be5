"""The steps of one scope: each starts when those that it waits for have ended."""

from __future__ import annotations

import asyncio
import typing as t
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial

from couler.backends.local.ahead import Ahead, Around
from couler.backends.local.ends import End, ScopeEnd
from couler.backends.local.limits import Limits
from couler.ir.graph import Graph
from couler.ir.semantics.foresight import Foresight, Progress
from couler.ir.semantics.outputs import Instance, outputs_of
from couler.ir.semantics.status import State, failed_steps, refuse_start
from couler.ir.semantics.values import Outputs
from couler.ir.walk import StepPath
from couler.ir.workflow import Step

_STATED_S = 1e9
"""Seconds that a priority of 1 counts for, which a step states: more than any path takes."""

DEFAULT_S = 1.0
"""Seconds that a step without a profile counts for in the length of a path."""


class Starter(t.Protocol):
    """Starts steps and records those that do not start."""

    def start_step(self, instance: Instance, around: Around, ended: Callable[[End], None]) -> None:
        """Start a step whose dependencies are met."""
        ...

    def end_at_once(self, instance: Instance, state: State, why: str) -> End:
        """Record the end of a step that does not start."""
        ...

    def cut_off(self, instance: Instance, limits: Limits) -> End:
        """Record that a step does not start any more."""
        ...


async def run_steps(
    steps: tuple[Step, ...],
    path: StepPath,
    around: Around,
    starter: Starter,
    *,
    read: Collection[str],
    shown: Collection[str],
) -> ScopeEnd:
    """Run the steps of a scope to their ends."""
    return await _Scope(steps, path, around, starter, read=read, shown=shown).to_end()


def tail_seconds(graph: Graph, steps: dict[str, Step]) -> dict[str, float]:
    """Return for each step the seconds of the longest path from its start to the scope's end."""
    tails: dict[str, float] = {}
    for name in reversed(graph.topological_order):
        profile = steps[name].profile
        known = None if profile is None else profile.seconds
        after = max((tails[follower] for follower in graph.successors[name]), default=0.0)
        tails[name] = after + (DEFAULT_S if known is None else known)
    return tails


def _stated(step: Step) -> float:
    """Return the priority that a step states, as seconds: above all that any path can take."""
    placement = step.placement
    return 0.0 if placement is None else _STATED_S * (placement.priority or 0)


class _Scope:
    def __init__(
        self,
        steps: tuple[Step, ...],
        path: StepPath,
        around: Around,
        starter: Starter,
        *,
        read: Collection[str],
        shown: Collection[str],
    ) -> None:
        self._steps = {step.name: step for step in steps}
        self._path = path
        self._around = around
        self._read = read
        self._starter = starter
        self._graph = graph = Graph.of(steps)
        self._tails = tail_seconds(graph, self._steps)
        self._waiting = {name: len(before) for name, before in graph.predecessors.items()}
        self._ready = deque(graph.roots)
        self._states: dict[str, State] = {}
        self._since: dict[str, int] = {}
        self._cut_off: list[str] = []
        self._readable: dict[str, Outputs] = dict(around.view.steps)
        self._view = replace(around.view, steps=self._readable)
        make = partial(Foresight, steps, graph, path, read=read, shown=shown)
        self._ahead = Ahead(path, make, self._progress)
        self._is_starting = False
        self._finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def to_end(self) -> ScopeEnd:
        if self._steps:
            self._start_ready()
            await self._finished
        # What was cut off has no failed step above it, if the limit came between two steps.
        failed = failed_steps(self._graph, self._states) or tuple(self._cut_off)
        return ScopeEnd(self._states, self._readable, failed, max(self._since.values(), default=0))

    def _start_ready(self) -> None:
        if self._is_starting:  # an end came at once: the loop below goes on
            return
        self._is_starting = True
        while self._ready:
            self._start(self._ready.popleft())
        self._is_starting = False

    def _start(self, name: str) -> None:
        step, around = self._steps[name], self._around
        path = self._path / name
        instance = Instance(step, path, outputs_of(step, is_read=name in self._read))
        if not instance.is_shown:
            instance = instance.at(self._path)
        before = self._graph.predecessors[name]
        # What does not run hands this on to those that wait for it, as what runs does.
        self._since[name] = since = max((around.since, *(self._since[it] for it in before)))
        if around.limits.reached is not None:
            self._take_end(name, self._starter.cut_off(instance, around.limits))
            return
        refusal = refuse_start(step, self._states)
        if refusal is not None:
            self._take_end(name, self._starter.end_at_once(instance, *refusal))
            return
        inside = replace(
            around,
            view=self._view,
            priority=around.priority + _stated(step) + self._tails[name],
            since=since,
            ahead=self._ahead,
        )
        self._starter.start_step(instance, inside, lambda end: self._take_end(name, end))

    def _progress(self, runs: frozenset[str]) -> Progress:
        view = replace(self._view, steps=dict(self._readable))
        sinces = {name: self._since[name] for name in self._states}
        return Progress(view, self._around.since, dict(self._states), sinces, runs)

    def _take_end(self, name: str, end: End) -> None:
        self._states[name] = end.state
        self._readable[name] = end.outputs
        self._since[name] = max(self._since[name], end.since)
        if end.state == "omitted" and self._around.limits.reached is not None:
            self._cut_off.append(name)
        for follower in self._graph.successors[name]:
            self._waiting[follower] -= 1
            if not self._waiting[follower]:
                self._ready.append(follower)
        if len(self._states) == len(self._steps):
            self._finished.set_result(None)
        else:
            self._start_ready()
