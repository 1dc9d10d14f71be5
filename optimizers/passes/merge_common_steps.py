"""Steps that do the same with the same inputs, run once."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.rewrite import map_scopes, rename_references
from couler.ir.semantics.outputs import read_in_scope
from couler.ir.values import Value
from couler.ir.walk import Scope, ScopeKey, steps_by_path, told_apart
from couler.ir.workflow import STDOUT, Container, Group, Output, Script, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.step_definition import definition

_LISTED = 5
"""How many of the merged steps the reason names."""


@dataclass(frozen=True)
class MergeCommonSteps:
    """Let one step stand for all that are defined alike and are given the same.

    Before: any verified workflow. Steps are merged if they are of one scope, equal in all but name,
    place in the program and what they are called by, wait for the same steps, and are declared to
    give equal outputs for equal work: by a cache of their own, or as a group of nothing but such
    steps. Those that read merged steps can be merged in turn. After: of several such steps there
    is the first, under its name, with all who waited for any of them waiting for it.

    Not merged: steps on whose failure or completion others depend, or that are one of several
    alternatives; steps with hooks or metrics, and daemons; a leaf with what is none, as only a leaf
    decides itself how its scope ends; and steps of whose undeclared standard output one is read and
    the other not, as only what is read has a limit.

    Preserved: the state of every step, the outputs, and the status of every scope, as far as the
    steps are what their caches declare them to be. The steps that are gone are still asked for by
    their names, but lists of what ran do not have them. So the pass is no part of the default
    pipeline.

    O(n + m) for n steps and m edges, and the size of the definitions that are compared.

    References
    ----------
    A. V. Aho, M. S. Lam, R. Sethi, J. D. Ullman: Compilers, 2nd edition, section 9.1.4 (global
    common subexpressions) and 6.1.2 (value numbers).

    Examples
    --------
    >>> from couler.ir.policies import Cache
    >>> from couler.ir.workflow import Container
    >>> def load(name):
    ...     return Step(name=name, action=Container(image="alpine", args=("x",)), cache=Cache())
    >>> context = PassContext()
    >>> flow = Workflow(name="w", steps=(load("a"), load("b")))
    >>> [step.name for step in MergeCommonSteps().run(flow, context).steps]
    ['a']
    >>> dict(context.derived), context.reason
    ({'a': ('a', 'b')}, '1 step does what another does, with the same inputs: b as a.')
    """

    name: t.ClassVar[str] = "merge-common-steps"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with the common steps merged."""
        return _Merger(workflow).merge(context)


class _Merger:
    def __init__(self, workflow: Workflow) -> None:
        self._workflow = workflow
        self._names: dict[ScopeKey, Mapping[str, str]] = {}
        """For each scope the steps that are gone, with the one that stands for each."""
        self._merged: list[tuple[str, str]] = []
        """Paths of those that are gone, and of what stands for them, inner ones first."""

    def merge(self, context: PassContext) -> Workflow:
        workflow = map_scopes(self._workflow, self._merge_scope)
        if not self._merged:
            return workflow
        names = self._names.get((None, ()), {})
        if names:
            outputs = tuple(_renamed_output(one, names) for one in workflow.outputs)
            workflow = workflow.model_copy(update={"outputs": outputs})
        _derive(self._workflow, self._merged, context)
        for one, kept in self._merged:
            context.explain(f"It does what {kept} does, with the same inputs.", step=one)
        gone = [f"{one} as {kept}" for one, kept in self._merged]
        more = f" and {len(gone) - _LISTED:,} more" if len(gone) > _LISTED else ""
        what = "1 step does what another does"
        if len(gone) > 1:
            what = f"{len(gone):,} steps do what others do"
        told = ", ".join(gone[:_LISTED])
        context.explain(f"{what}, with the same inputs: {told}{more}.")
        return workflow

    def _merge_scope(self, scope: Scope) -> tuple[Step, ...]:
        steps = tuple(self._outside_of(scope, step) for step in scope.steps)
        names = _common(steps, read_in_scope(scope, self._workflow))
        if names:
            self._names[scope.key] = names
            by_name = {step.name: step for step in scope.steps}
            self._merged += (
                (scope.path_of(by_name[one]), scope.path_of(by_name[kept]))
                for one, kept in names.items()
            )
        return tuple(_renamed(step, names) for step in steps if step.name not in names)

    def _outside_of(self, scope: Scope, step: Step) -> Step:
        """Return a step whose group, or which in a handler, reads what is still there."""
        if isinstance(step.action, Group):
            inner = self._names.get((scope.handler, (*scope.path, step.name)))
            if inner:
                outputs = tuple(_renamed_output(one, inner) for one in step.outputs)
                step = step.model_copy(update={"outputs": outputs})
        if scope.handler is not None and not scope.path:
            own = {one.name for one in scope.steps}
            names = self._names.get((None, ()), {})
            free = {one: kept for one, kept in names.items() if one not in own}
            step = _renamed(step, free) if free else step
        return step


def _common(steps: tuple[Step, ...], read: frozenset[str]) -> dict[str, str]:
    """Return the steps that can go, each with the first of those that do the same."""
    if sum(map(_is_repeatable, steps)) < 2:
        return {}
    graph = Graph.of(steps)
    by_name = {step.name: step for step in steps}
    position = {step.name: number for number, step in enumerate(steps)}
    apart = {name for step in steps for name in told_apart(step)}
    standing: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    same: dict[str, str] = {}
    for name in graph.topological_order:
        step = by_name[name]
        if not _is_repeatable(step) or name in apart:
            continue
        key = json.dumps(
            [
                definition(_renamed(step, standing)),
                not graph.successors[name],
                name in read or any(output.name == STDOUT for output in step.outputs),
            ]
        )
        first = same.setdefault(key, name)
        members.setdefault(first, []).append(name)
        if first != name:
            standing[name] = first
    names: dict[str, str] = {}
    for some in members.values():
        kept = min(some, key=position.__getitem__)
        names.update({name: kept for name in some if name != kept})
    return dict(sorted(names.items(), key=lambda pair: position[pair[0]]))


def _is_repeatable(step: Step) -> bool:
    """Return whether equal work is declared to give equal outputs, and does nothing else."""
    if step.daemon or step.hooks or step.metrics:
        return False
    if isinstance(step.action, Group):
        return bool(step.action.steps) and all(map(_is_repeatable, step.action.steps))
    return step.cache is not None and isinstance(step.action, Container | Script)


def _renamed(step: Step, names: Mapping[str, str]) -> Step:
    """Return a step that waits for and reads what stands for other steps."""
    if not names:
        return step
    made = rename_references(step, names)
    entries = tuple(dict.fromkeys(_renamed_entry(entry, names) for entry in step.depends_on))
    return made if entries == step.depends_on else made.model_copy(update={"depends_on": entries})


def _renamed_entry(
    entry: str | Dependency | AnyOf, names: Mapping[str, str]
) -> str | Dependency | AnyOf:
    # Steps that others name in another way are not merged.
    return names.get(entry, entry) if isinstance(entry, str) else entry


def _renamed_output(output: Output, names: Mapping[str, str]) -> Output:
    if output.value is None:
        return output
    value: Value = rename_references(output.value, names)
    return output if value is output.value else output.model_copy(update={"value": value})


def _derive(workflow: Workflow, merged: Iterable[tuple[str, str]], context: PassContext) -> None:
    """Say of each step that stands for others, and of those inside, which these are."""
    steps = dict(steps_by_path(workflow))
    sources = {path: [path] for path in steps}
    for gone, kept in merged:
        for inner in _below(steps[gone]):
            if gone + inner in sources:  # else it went before, inside of its own group
                sources[kept + inner] += sources.pop(gone + inner)
    for path, some in sources.items():
        if len(some) > 1:
            context.derive(path, some)


def _below(step: Step) -> Iterator[str]:
    """Yield what leads from a step to itself and to all steps inside."""
    yield ""
    if isinstance(step.action, Group):
        for inner in step.action.steps:
            yield from (f"/{inner.name}{rest}" for rest in _below(inner))
