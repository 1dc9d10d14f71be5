"""The pass `split`: which steps go together where a scope is too large for its engine."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from couler.errors import BudgetError, EngineOptionError, InvalidWorkflowError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Part
from couler.ir.sizes import Footprint, Limits, Over
from couler.ir.walk import Scope, ScopeKey, scopes
from couler.ir.workflow import Step, Workflow
from couler.optimizers.base import PassContext

if t.TYPE_CHECKING:
    from couler.optimizers.run_budget import RunBudget
    from couler.optimizers.scope_split import ScopeSplit

Method: t.TypeAlias = t.Literal["bands", "levels", "order", "dfs"]

_TRIES = 5
"""How often parts are made anew because the engine's measure of them is over its limits."""


@dataclass(frozen=True)
class Split:
    """Say of each step which part of its scope it belongs to, where the scope is too large.

    Only labels are set (`Step.part`): what a step waits for, and how it ends, stays as it is.
    Steps are put into groups where a scope has more of them than the engine takes in one; those
    of the workflow's own scope into runs of their own where one run would be too large and the
    engine can start others. Without options the limits of the engine decide that, and for an
    engine without limits nothing is done. Scopes that have parts already are left as they are, so
    a second time changes nothing.

    Parts never wait for each other in a circle, and each is within the budget: what they come to is
    measured as the engine has them compiled, and they are made anew, smaller or so that less is
    handed on between them, where that is over its limits, a few times at most. Where no split is
    within the engine's limits the workflow is left as it is, for the engine's own check to refuse;
    where none is within the budget that an option states, it is refused here, with the steps that
    are too large.

    How long steps take, in seconds, is what passes before this one know of it, else what their
    profiles say.

    Attributes
    ----------
    group_steps
        Most steps in a group; a scope with more is divided.
    run_steps, run_pods, run_bytes
        Most steps, steps that run a process, and bytes as stored in a run of its own.
    method
        How steps are put into parts: `bands`, `levels`, `order`, or `dfs` for the one of the
        paper (`couler.optimizers.partitioning.methods.partition`).

    Notes
    -----
    Near to linear in steps and edges. This takes the place of algorithm 3 of the Couler paper,
    whose parts can wait for each other in a circle; docs/decisions/0019-splitting.md compares.
    """

    name: t.ClassVar[str] = "split"
    fits_engine: t.ClassVar[bool] = True

    group_steps: int | None = None
    run_steps: int | None = None
    run_pods: int | None = None
    run_bytes: int | None = None
    method: Method = "bands"

    def __post_init__(self) -> None:
        """Refuse budgets of nothing."""
        for name in ("group_steps", "run_steps", "run_pods", "run_bytes"):
            most = getattr(self, name)
            if most is not None and most < 1:
                raise EngineOptionError(f"{name} is {most}; it is at least 1")

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with a part for each step of the scopes that are too large."""
        footprint = None if context.weigh is None else context.weigh(workflow)
        if context.weigh is not None and footprint is None:
            return workflow  # the engine cannot run it anyway, and its check says why
        if self._is_small(workflow, footprint):
            return workflow
        splits = list(self._splits(workflow, footprint, context))
        found: dict[ScopeKey, Mapping[str, Part]] = {}

        def find(split: ScopeSplit, overs: Sequence[Over] = ()) -> bool:
            """Find the parts of a scope, or anew for what is over; whether they may be others."""
            try:
                if overs and not split.fit(overs):
                    return False
                found[split.scope.key] = split.find()
            except BudgetError as error:
                self._give_up(split, error, context)
                found[split.scope.key] = {}
                splits.remove(split)
            return True

        for split in tuple(splits):
            find(split)
        made = _labelled(workflow, found)
        for trial in range(_TRIES + 1):
            overs = _measured(made, context) if made is not workflow else ()
            if overs and trial == _TRIES:
                for split in splits:
                    if found[split.scope.key]:
                        self._give_up(split, BudgetError(str(overs[0])), context)
                return workflow
            changed = [find(split, overs) for split in tuple(splits)] if overs else []
            if not any(changed):  # what is over then is not made of parts: the engine's check tells
                break
            made = _labelled(workflow, found)
        for split in splits:
            if split.reason:
                context.explain(split.reason)
        return made

    def _is_small(self, workflow: Workflow, footprint: Footprint | None) -> bool:
        """Return whether nothing is over a limit and no scope has parts: the usual case."""
        limits = Limits() if footprint is None else footprint.limits
        most = [count for count in (self.group_steps, limits.scope_steps) if count is not None]
        return (
            not (self.run_steps or self.run_pods or self.run_bytes)
            and (footprint is None or not limits.takes_runs or footprint.fits)
            and all(
                len(scope.steps) <= min(most, default=len(scope.steps))
                and all(step.part is None for step in scope.steps)
                for scope in scopes(workflow)
            )
        )

    def _splits(
        self, workflow: Workflow, footprint: Footprint | None, context: PassContext
    ) -> Iterator[ScopeSplit]:
        """Yield the scopes that have no parts yet."""
        from couler.optimizers.estimate import with_path_s
        from couler.optimizers.run_budget import GroupFinder
        from couler.optimizers.scope_split import ScopeSplit, capital, name_of

        limits = Limits() if footprint is None else footprint.limits
        for scope in scopes(with_path_s(workflow, context.known_times)):
            if any(step.part is not None for step in scope.steps):
                context.explain(f"{capital(name_of(scope))} has parts already.")
                continue
            of_workflow = scope.owner is None and scope.handler is None and not scope.path
            yield ScopeSplit(
                scope,
                limits,
                GroupFinder(scope.steps, limits, self.group_steps, self.method),
                self.method,
                budget=self._run_budget(workflow, footprint) if of_workflow else None,
                stated_groups=self.group_steps,
            )

    def _give_up(self, split: ScopeSplit, error: BudgetError, context: PassContext) -> None:
        """Say why a scope is not split, or refuse it where a budget is stated."""
        from couler.optimizers.scope_split import capital, name_of, told_with_daemons

        scope = split.scope
        by_name = {step.name: step for step in scope.steps}
        named = [by_name[name] for name in error.nodes]
        why = told_with_daemons(error, named, is_stated=split.is_stated)
        if not split.is_stated:
            context.give_up(f"{capital(name_of(scope))} is not split, as no split fits: {why}.")
            return
        code = "CLR540" if error.nodes else "CLR541"
        advice = "Raise the budget, or make the step smaller" if error.nodes else "Raise the budget"
        besides = split.besides if error.nodes else ""
        first = by_name.get(error.nodes[0]) if error.nodes else None
        raise InvalidWorkflowError(
            "no split is within the budget",
            [
                Diagnostic(
                    code,
                    f"{name_of(scope)} cannot be split: {why}.{besides} {advice}.",
                    step=None if first is None else scope.path_of(first),
                    source=None if first is None else first.source,
                )
            ],
        ) from error

    def _run_budget(self, workflow: Workflow, footprint: Footprint | None) -> RunBudget | None:
        """Return what a run of its own may hold, if there is a limit."""
        from couler.optimizers.run_budget import RunBudget

        asked = {"steps": self.run_steps, "pods": self.run_pods, "bytes": self.run_bytes}
        stated = {name: most for name, most in asked.items() if most is not None}
        by_engine = footprint is not None and footprint.limits.takes_runs
        return RunBudget(workflow, stated, footprint) if stated or by_engine else None


def _measured(workflow: Workflow, context: PassContext) -> tuple[Over, ...]:
    """Return what the engine would refuse of a workflow for its size."""
    footprint = None if context.weigh is None else context.weigh(workflow)
    return () if footprint is None else footprint.overs


def _labelled(workflow: Workflow, labels: Mapping[ScopeKey, Mapping[str, Part]]) -> Workflow:
    if not any(labels.values()):
        return workflow

    def label(scope: Scope) -> tuple[Step, ...]:
        parts = labels.get(scope.key)
        if not parts:
            return scope.steps
        return tuple(
            step.model_copy(update={"part": parts[step.name]}) if step.name in parts else step
            for step in scope.steps
        )

    from couler.ir.rewrite import map_scopes

    return map_scopes(workflow, label)
