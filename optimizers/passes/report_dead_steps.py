"""Steps whose results nobody can use; told, never removed."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from couler.ir.artifacts import ListFiles
from couler.ir.graph import Graph
from couler.ir.values import StepRef
from couler.ir.walk import (
    Scope,
    explicit_dependencies,
    output_references,
    predecessors,
    references,
)
from couler.ir.workflow import Container, Group, Http, Job, Output, Script, Step, Workflow
from couler.optimizers.base import PassContext

_LISTED = 10
"""How many dead steps the reason names; all have a reason of their own."""

_SAFE_METHODS = ("GET", "HEAD")
"""Requests that ask for nothing but an answer: RFC 9110, section 9.2.1."""


@dataclass(frozen=True)
class ReportDeadSteps:
    """Tell which steps could go without anybody missing anything; change nothing.

    Before: any verified workflow. After: the same workflow, and in the log the paths of its dead
    steps. A step is dead if

    - it does nothing beside giving outputs: it has a cache, so that an earlier run can stand for
      it; or it lists files, or makes a request that changes nothing; or it is a group of nothing
      but such steps. It puts no file outside, and has no hooks or metrics, and is no daemon;
    - and none but dead steps wait for it or read its outputs, neither steps nor exit handlers; nor
      do those outputs of its workflow or group that are read themselves.

    Where a workflow or a group gives no outputs at all, what its last steps give is taken for its
    result, which people look at in the status of the run: these are alive, and so are the last
    steps of a group for whose success a step waits, and all steps of exit handlers. A last step
    with effects is never told.

    Preserved: everything. Removing a dead step is left to whoever wrote it: if it fails, the run
    does.

    O(n + m) for n steps and m edges.

    Attributes
    ----------
    only_repeatable
        If not, every container, script or job that declares outputs counts as doing nothing else,
        so that leaves with effects may be told as well.

    References
    ----------
    K. D. Cooper, L. Torczon: Engineering a Compiler, 3rd edition, section 10.2 (useless code: what
    is not marked, going backwards from what counts).

    Examples
    --------
    >>> from couler.ir.policies import Cache
    >>> def step(name, *reads):
    ...     run = Container(image="alpine", args=tuple(StepRef(step=one) for one in reads))
    ...     return Step(name=name, action=run, outputs=(Output(),), cache=Cache())
    >>> result = Output(name="o", value=StepRef(step="b"))
    >>> steps = (step("a"), step("b", "a"), step("c", "a"), step("d", "c"))
    >>> context = PassContext()
    >>> _ = ReportDeadSteps().run(Workflow(name="w", steps=steps, outputs=(result,)), context)
    >>> sorted(context.step_reasons)
    ['c', 'd']
    """

    name: t.ClassVar[str] = "report-dead-steps"
    only_repeatable: bool = True

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow as it is, and tell of its dead steps."""
        read = [
            reference
            for handler in workflow.exit_handlers
            for step in handler.steps
            for reference in references(step)
        ]
        top = Scope((), workflow.steps, None)
        shows_leaves = not workflow.outputs
        found = list(self._dead(top, workflow.outputs, read, shows_leaves=shows_leaves))
        for path in found:
            context.explain("Nothing uses what it gives.", step=path)
        if found:
            listed = ", ".join(found[:_LISTED])
            more = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
            what = "1 step is" if len(found) == 1 else f"{len(found):,} steps are"
            context.explain(
                f"{what} dead: nothing uses the results of {listed}{more}. "
                "Remove what is not needed, or give its result out."
            )
        return workflow

    def _dead(
        self,
        scope: Scope,
        wanted: Iterable[Output],
        read: Iterable[StepRef] = (),
        *,
        shows_leaves: bool,
    ) -> Iterator[str]:
        """Yield the paths of the dead steps of a scope, and of those inside that live."""
        by_name = {step.name: step for step in scope.steps}
        used = [*read, *(one for output in wanted for one in output_references(output.value))]
        leaves = Graph.of(scope.steps).leaves if shows_leaves else ()
        alive = [reference.step for reference in used if reference.step in by_name]
        alive += [step.name for step in scope.steps if not self._does_nothing_else(step)]
        alive += leaves
        living: set[str] = set()
        while alive:
            name = alive.pop()
            if name not in living:
                living.add(name)
                alive += [one for one in predecessors(by_name[name]) if one in by_name]
        used += [one for name in living for one in references(by_name[name])]
        outputs_read = {(one.step, one.output) for one in used}
        counting = {
            *leaves,
            *(one for name in living for one, _ in explicit_dependencies(by_name[name])),
        }
        for step in scope.steps:
            if step.name not in living:
                yield scope.path_of(step)
            elif isinstance(step.action, Group):
                counts = step.name in counting
                yield from self._dead(
                    Scope((*scope.path, step.name), step.action.steps, step),
                    [
                        one
                        for one in step.outputs
                        if counts or (step.name, one.name) in outputs_read
                    ],
                    shows_leaves=counts or not step.outputs,
                )

    def _does_nothing_else(self, step: Step) -> bool:
        """Return whether a step has no effect but its outputs, as far as it says."""
        if step.daemon or step.hooks or step.metrics:
            return False
        if any(output.at is not None for output in step.outputs):
            return False
        match step.action:
            case Group():
                return all(map(self._does_nothing_else, step.action.steps))
            case ListFiles():
                return True
            case Http():
                return step.action.method in _SAFE_METHODS
            case Container() | Script() | Job():
                declares = not self.only_repeatable and bool(step.outputs)
                return step.cache is not None or declares
            case _:
                return False
