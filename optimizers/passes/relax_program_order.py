"""Steps that wait only for what they need, where a program states them one after the other."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.ir.graph import Graph
from couler.ir.rewrite import map_scopes
from couler.ir.values import FirstOf, children, walk
from couler.ir.walk import Scope, all_steps, predecessors, told_apart
from couler.ir.workflow import Group, Step, Suspend, Workflow
from couler.optimizers.base import PassContext


@dataclass(frozen=True)
class RelaxProgramOrder:
    """Let steps of the implicit style start as soon as their data is there.

    Where a program calls steps one after the other, outside of a block, each waits for the one
    before: what the paper calls step by step. This pass leaves out the dependencies that nothing
    but that order asks for, so that independent steps run side by side.

    Before: any verified workflow; its front end has marked those dependencies (`program_order`).
    After: a step waits for what it reads, for what the program names (`>>`, `set_dependencies`),
    and for the barriers before it. Barriers are steps that wait for a person or for a time,
    daemons, groups with such steps inside, and those that are named: they wait for all that the
    program calls before them, and all that it calls after them waits for them.

    Preserved: the outcome of every run in which nothing fails, if the steps hand on all that
    others need: a step that relies on an effect of an earlier one must read something of it, or
    name it. After a failure steps run that were `omitted` before, since they came later in the
    program only; so the pass is for those who ask for it. What follows a step keeps its order if
    others ask for the failure or completion of that step, which could make good its failure.

    O(n + m) for n steps and m edges, and for each barrier the steps since the one before.

    Attributes
    ----------
    barriers
        Names of further steps around which the order of the program stays.

    References
    ----------
    The Couler paper, section IV-B (automatic parallelism). docs/semantics.md, section 2.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> def step(name, *after):
    ...     run = Container(image="alpine")
    ...     return Step(name=name, action=run, depends_on=after, program_order=after)
    >>> flow = Workflow(name="w", steps=(step("a"), step("b", "a"), step("c", "b")))
    >>> relaxed = RelaxProgramOrder().run(flow, PassContext())
    >>> [one.depends_on for one in relaxed.steps]
    [(), (), ()]
    >>> relaxed = RelaxProgramOrder(barriers=("b",)).run(flow, PassContext())
    >>> [one.depends_on for one in relaxed.steps]
    [(), ('a',), ('b',)]
    """

    name: t.ClassVar[str] = "relax-program-order"
    keeps_failures: t.ClassVar[bool] = False
    """After a failure more may run than did before: see `Pass`."""
    barriers: tuple[str, ...] = ()

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with the order that its data asks for.

        Raises
        ------
        EngineOptionError
            A barrier names no step.
        """
        names = {step.name for step in all_steps(workflow)}
        for barrier in self.barriers:
            if barrier not in names:
                near = did_you_mean(barrier, names)
                raise EngineOptionError(f'{self.name}: the barrier "{barrier}" is no step.{near}')
        left_out = 0

        def change(scope: Scope) -> tuple[Step, ...]:
            nonlocal left_out
            if not any(step.program_order for step in scope.steps):
                return scope.steps
            waits = _Relaxed(scope.steps, self._is_barrier).waits()
            steps: list[Step] = []
            for step in scope.steps:
                order = waits.get(step.name)
                if order is not None and set(order) != set(step.program_order):
                    made = _with_order(step, order)
                    gone = len(step.depends_on) - len(made.depends_on)
                    left_out += max(0, gone)
                    context.explain(
                        "Only the order of the program asked for it.", step=scope.path_of(step)
                    )
                    step = made
                steps.append(step)
            return tuple(steps)

        made = map_scopes(workflow, change)
        if left_out:
            what = "1 dependency is" if left_out == 1 else f"{left_out:,} dependencies are"
            context.explain(f"{what} left out that only the order of the program asks for.")
        return made

    def _is_barrier(self, step: Step) -> bool:
        if step.daemon or step.name in self.barriers or isinstance(step.action, Suspend):
            return True
        return isinstance(step.action, Group) and any(map(self._is_barrier, step.action.steps))


class _Relaxed:
    """Works out, for one scope, what of the order of the program stays."""

    def __init__(self, steps: tuple[Step, ...], is_barrier: t.Callable[[Step], bool]) -> None:
        self._steps = {step.name: step for step in steps}
        self._graph = Graph.of(steps)
        self._barriers = {step.name for step in steps if is_barrier(step)}
        self._apart = {name for step in steps for name in told_apart(step)}
        self._since: dict[str, tuple[str, ...]] = {}
        """For each step the barriers that the program has before it, with none between."""

    def waits(self) -> dict[str, tuple[str, ...]]:
        """Return what steps wait for by the order of the program, for those that do so now."""
        found: dict[str, tuple[str, ...]] = {}
        for name in self._graph.topological_order:
            step = self._steps[name]
            # By whatever edge: what the barriers are before must not begin without them.
            self._since[name] = self._last_barriers(self._graph.predecessors[name])
            if name in self._barriers:
                found[name] = self._all_before(step, found)
            elif not step.program_order:
                continue
            elif _may_be_certain_by_order(step):
                found[name] = step.program_order
            else:
                kept = (one for one in step.program_order if one in self._apart)
                since = self._last_barriers(step.program_order)
                apart = set(told_apart(step))
                added = (one for one in since if one not in apart)
                found[name] = tuple(dict.fromkeys((*kept, *added)))
        return found

    def _last_barriers(self, before: Iterable[str]) -> tuple[str, ...]:
        last: dict[str, None] = {}
        for name in before:
            if name in self._barriers:
                last[name] = None
            else:
                last.update(dict.fromkeys(self._since.get(name, ())))
        return tuple(last)

    def _all_before(self, step: Step, waits: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """Return the last of all steps that the program has before a barrier, after the others."""
        free = dict.fromkeys(step.program_order)
        """Steps whose followers have waited for them by the order of the program."""
        seen: set[str] = set()
        waiting = list(self._graph.predecessors[step.name])
        while waiting:
            name = waiting.pop()
            if name in seen or name not in self._steps:
                continue
            seen.add(name)
            if name not in self._barriers:
                free.update(dict.fromkeys(self._steps[name].program_order))
                waiting += self._graph.predecessors[name]
        awaited = {one for name in seen for one in self._strict_after(name, waits)}
        return tuple(name for name in self._graph.predecessors if name in free.keys() - awaited)

    def _strict_after(self, name: str, waits: Mapping[str, tuple[str, ...]]) -> Iterable[str]:
        """Return the steps without whose success a step does not run, after the pass."""
        step = self._steps[name]
        order = waits.get(name, step.program_order)
        apart = set(told_apart(step))
        return [one for one in predecessors(_with_order(step, order)) if one not in apart]


def _with_order(step: Step, order: tuple[str, ...]) -> Step:
    """Return a step that waits by the order of the program for these alone."""
    gone = set(step.program_order) - set(order)
    kept = [entry for entry in step.depends_on if entry not in gone]
    new = [name for name in order if name not in kept]
    marks = tuple(name for name in order if name in step.program_order or name in new)
    update = {"depends_on": (*kept, *new), "program_order": marks}
    return step.model_copy(update=update)


def _may_be_certain_by_order(step: Step) -> bool:
    """Return whether what a step names can be what makes its first of several values certain."""
    if not any(True for _ in told_apart(step)):
        return False
    return any(isinstance(one, FirstOf) for value in children(step) for one in walk(value))
