"""Conditions, or parts of them, whose result is known before the run."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from couler.ir.rewrite import map_scopes
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    RunFacts,
    Stored,
    View,
    bind_input,
    holds,
)
from couler.ir.values import (
    And,
    Compare,
    Condition,
    ItemRef,
    Not,
    Or,
    OwnRef,
    ParamRef,
    RoundRef,
    RunRef,
    StepRef,
    Value,
    children,
    children as parts_of,
    walk,
)
from couler.ir.walk import Scope, ScopeKey, implied_dependencies, scopes
from couler.ir.workflow import STDOUT, Step, Workflow
from couler.optimizers.base import PassContext

Folded: t.TypeAlias = "bool | Condition"
"""What is left of a condition: its result, if that is known."""


@dataclass(frozen=True)
class FoldConstantConditions:
    """Take out of conditions what is known before the run.

    Constant is what is made of literals alone, and inside a group an input that is given such a
    value. A parameter of the workflow is not: each run has its own.

    Before: any verified workflow. After: no condition of a step is made of literals and always
    true. One that is always false stays, as a comparison that says so, and the step with it: it is
    `skipped`, and has a place in the results. In an `and` or `or` the parts are evaluated from left
    to right until the result is known, and a part that is reached can fail its step. So a part goes
    only if it is constant and does not decide, or if it comes after one that decides, so that it
    is never reached. What stands before one that decides stays, and so do all parts of an `and`
    that is a step's whole condition: they are what makes reads of other steps safe. What is read
    nowhere else as standard output is still read, for its limit of size. A condition of a loop is
    never folded away.

    Preserved: the outcome of every step, all paths, and the order: a step still waits for the
    steps that only a part which is gone has read.

    O(n + c) for n steps and c parts of conditions.

    References
    ----------
    docs/semantics.md, sections 3, 5 and 8.

    Examples
    --------
    >>> from couler.ir.values import Literal, ParamRef
    >>> from couler.ir.workflow import Container
    >>> def is_(left, right):
    ...     return Compare(left=left, op="==", right=Literal(value=right))
    >>> when = And(items=(is_(Literal(value="prod"), "prod"), is_(ParamRef(name="team"), "ml")))
    >>> step = Step(name="a", action=Container(image="alpine"), when=when)
    >>> folded = FoldConstantConditions().run(Workflow(name="w", steps=(step,)), PassContext())
    >>> folded.steps[0].when == is_(ParamRef(name="team"), "ml")
    True
    """

    name: t.ClassVar[str] = "fold-constant-conditions"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with its conditions folded."""
        gone = shorter = 0
        known = known_views(workflow, {})

        def change(scope: Scope) -> tuple[Step, ...]:
            nonlocal gone, shorter
            if all(step.when is None and step.loop is None for step in scope.steps):
                return scope.steps
            declared = _declared(scope)
            constants = known[scope.key]
            steps: list[Step] = []
            for step in scope.steps:
                made = _fold_step(step, declared, constants)
                if made.when is None and step.when is not None:
                    gone += 1
                    context.explain("Its condition is always true.", step=scope.path_of(step))
                elif made is not step:
                    shorter += 1
                    told = "A part of its condition is known before the run."
                    context.explain(told, step=scope.path_of(step))
                steps.append(made)
            return tuple(steps)

        made = map_scopes(workflow, change)
        if gone:
            context.explain(f"{_count(gone)} always true, so it is not evaluated.")
        if shorter:
            context.explain(f"{_count(shorter)} shorter by parts that are known before the run.")
        return made


def _count(number: int) -> str:
    return "1 condition is" if number == 1 else f"{number:,} conditions are"


def _declared(scope: Scope) -> dict[str, bool]:
    """Return the steps of a scope, each with whether it declares its standard output."""
    return {
        step.name: any(output.name == STDOUT for output in step.outputs) for step in scope.steps
    }


def _fold_step(step: Step, declared: Mapping[str, bool], known: View) -> Step:
    update: dict[str, object] = {}

    def may_go(condition: Condition) -> bool:
        return not any(_makes_output(value, step, declared) for value in _reads(condition))

    folder = _Folder(known, may_go)
    if step.when is not None:
        folded = folder.fold_all(step.when)
        if folded is not step.when:
            update["when"] = None if folded is True else folded
    if step.loop is not None:
        left = folder.fold(step.loop.condition)
        if not isinstance(left, bool) and left is not step.loop.condition and _reads_round(left):
            update["loop"] = step.loop.model_copy(update={"condition": left})
    if not update:
        return step
    made = step.model_copy(update=update)
    still = set(implied_dependencies(made))
    lost = tuple(
        name for name in implied_dependencies(step) if name in declared and name not in still
    )
    return made.model_copy(update={"depends_on": (*made.depends_on, *lost)}) if lost else made


def _reads(condition: Condition) -> Iterator[Value]:
    for operand in children(condition):
        yield from walk(operand)


def _reads_round(condition: Condition) -> bool:
    return any(isinstance(value, RoundRef) for value in _reads(condition))


def _makes_output(value: Value, step: Step, declared: Mapping[str, bool]) -> bool:
    """Return whether a read can be what makes standard output a value."""
    if isinstance(value, StepRef):
        return value.output == STDOUT and not declared.get(value.step, False)
    return isinstance(value, RoundRef) and value.output == STDOUT and not declared[step.name]


class _Folder:
    """Folds one condition."""

    def __init__(self, known: View, may_go: Callable[[Condition], bool]) -> None:
        self._known = known
        self._may_go = may_go

    def fold_all(self, condition: Condition) -> Condition | t.Literal[True]:
        """Fold a condition under which a step stands: what is always false stays a condition."""
        if isinstance(condition, And):
            parts = [self.fold_all(item) for item in condition.items]
            kept = tuple(part for part in parts if part is not True)
            return _joined(condition, kept) if kept else True
        folded = self.fold(condition)
        if folded is True:
            return True
        return (self._witness(condition, False) or condition) if folded is False else folded

    def fold(self, condition: Condition) -> Folded:
        """Return the result of a condition, or what is left of it."""
        match condition:
            case Compare():
                return self._compare(condition)
            case Not():
                item = self.fold(condition.item)
                if isinstance(item, bool):
                    return not item
                return condition if item is condition.item else Not(item=item)
            case And():
                return self._fold_items(condition, decisive=False)
            case Or():
                return self._fold_items(condition, decisive=True)
        t.assert_never(condition)

    def _fold_items(self, condition: And | Or, *, decisive: bool) -> Folded:
        kept: list[Condition] = []
        for index, item in enumerate(condition.items):
            folded = self.fold(item)
            if folded is not decisive:
                if not isinstance(folded, bool):
                    kept.append(folded)
                continue
            ends = all(map(self._may_go, condition.items[index + 1 :]))
            if ends and not kept:
                return decisive
            kept.append(self._witness(item, decisive) or item)
            if ends:  # what stands before it can fail, so it is evaluated
                break
        return _joined(condition, tuple(kept)) if kept else not decisive

    def _compare(self, condition: Compare) -> Folded:
        known = self._known
        if not (is_made_of(condition.left, known) and is_made_of(condition.right, known)):
            return condition
        try:
            return holds(condition, known)
        except VALUE_ERRORS:  # it fails its step, at run time as here
            return condition

    def _witness(self, condition: Condition, result: bool) -> Condition | None:
        """Return a known comparison inside, negated or not, that has the result of the whole."""
        match condition:
            case Compare():
                return condition if self._compare(condition) is result else None
            case Not():
                inner = self._witness(condition.item, not result)
                return None if inner is None else Not(item=inner)
            case And() | Or():
                found = (self._witness(item, result) for item in condition.items)
                return next((one for one in found if one is not None), None)
        t.assert_never(condition)


def _joined(condition: And | Or, items: tuple[Condition, ...]) -> Condition:
    if len(items) == 1:
        return items[0]
    same = len(items) == len(condition.items)
    if same and all(new is old for new, old in zip(items, condition.items, strict=True)):
        return condition
    return condition.model_copy(update={"items": items})


_BEFORE_THE_RUN = RunFacts("", "")


def known_views(workflow: Workflow, parameters: Mapping[str, Stored]) -> Mapping[ScopeKey, View]:
    """Return for each scope what is known in it: some parameters, and inputs made of what is."""
    own = View(_BEFORE_THE_RUN, parameters=parameters)
    found: dict[ScopeKey, View] = {}
    for scope in scopes(workflow):  # outer before inner
        found[scope.key] = own
        if scope.owner is None:
            continue
        around, known = found[scope.key_around], dict[str, Stored]()
        for given in scope.owner.inputs:
            if given.value is not None and is_made_of(given.value, around):
                with contextlib.suppress(*VALUE_ERRORS):  # they fail the group
                    known[given.name] = bind_input(given, around)
        found[scope.key] = View(_BEFORE_THE_RUN, parameters=known)
    return found


def is_made_of(value: Value, view: View) -> bool:
    """Return whether a value reads nothing but what is known."""
    if isinstance(value, ParamRef):
        return value.name in view.parameters
    if isinstance(value, StepRef | ItemRef | RoundRef | RunRef | OwnRef):
        return False
    return all(is_made_of(inner, view) for inner in parts_of(value))
