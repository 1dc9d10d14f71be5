"""A scope in which groups of steps have become single steps, and what reads them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial

from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.rewrite import map_references
from couler.ir.values import StepRef
from couler.ir.walk import Scope, ScopeKey, output_references, references, scopes
from couler.ir.workflow import Output, Step, Workflow
from couler.optimizers.grouped.lowering import lower
from couler.optimizers.grouped.sharing import Kinds
from couler.optimizers.grouping.problem import Limits

Read = tuple[str, str]
"""A step and an output of it."""


def read_from_outside(workflow: Workflow) -> dict[ScopeKey, frozenset[Read]]:
    """Return what is read of the steps of each scope by others than these."""
    found: dict[ScopeKey, frozenset[Read]] = {}
    for scope in scopes(workflow):
        if scope.owner is not None:
            found[scope.key] = frozenset(_reads(scope.owner.outputs))
    own = {step.name for step in workflow.steps}
    handled = (step for handler in workflow.exit_handlers for step in handler.steps)
    found[None, ()] = frozenset(_reads(workflow.outputs)) | {
        (one.step, one.output) for step in handled for one in references(step) if one.step in own
    }
    return found


class ScopeRewrite:
    """The steps of a scope with a step for each group."""

    def __init__(
        self,
        scope: Scope,
        groups: Sequence[tuple[str, tuple[str, ...]]],
        kinds: Kinds,
        read_stdout: frozenset[str],
        read: frozenset[Read],
        limits: Limits,
    ) -> None:
        by_name = {step.name: step for step in scope.steps}
        graph = Graph.of(scope.steps)
        taken = set(by_name)
        self.made: list[Step] = []
        self._names: dict[str, str] = {}
        self._outputs: dict[Read, Read] = {}
        position = {step.name: number for number, step in enumerate(scope.steps)}
        place: dict[str, Step] = {}
        readers = _readers(scope.steps)
        for image, members in groups:
            name = name_of(members, taken)
            taken.add(name)
            inside = frozenset(members)
            outer = {one for one in read if one[0] in inside}
            for one in members:
                outer |= {(one, output) for output, by in readers.get(one, ()) if by not in inside}
            grouped = lower(
                name,
                image,
                [by_name[one] for one in members],
                {one: [b for b in graph.predecessors[one] if b in inside] for one in members},
                kinds=kinds,
                read=read_stdout,
                read_outside=sorted(outer, key=lambda one: (position[one[0]], one[1])),
                limits=limits,
            )
            self.made.append(grouped.step)
            self._names.update(dict.fromkeys(members, name))
            self._outputs |= {one: (name, made) for one, made in grouped.outputs.items()}
            place[max(members, key=position.__getitem__)] = grouped.step
        rewritten = (
            place.get(step.name, step)
            for step in scope.steps
            if step.name in place or step.name not in self._names
        )
        self.made = [self._renamed(step) for step in self.made]
        self.steps = tuple(map(self._renamed, rewritten))

    def renamed_outputs(self, owner: Step) -> Step:
        """Return the step whose group the scope is, which reads what is there now."""
        outputs = self.renamed_values(owner.outputs)
        return owner if outputs == owner.outputs else owner.model_copy(update={"outputs": outputs})

    def renamed_values(self, outputs: Iterable[Output]) -> tuple[Output, ...]:
        """Return outputs of a group or workflow that read what is there now."""
        return tuple(
            one
            if one.value is None
            else one.model_copy(update={"value": map_references(one.value, self._reference)})
            for one in outputs
        )

    def renamed_in_handler(self, handler: Scope) -> Callable[[Step], Step]:
        """Return what makes steps of an exit handler read what is there now."""
        own = frozenset(step.name for step in handler.steps)
        hidden = own if not handler.path else frozenset(self._names)
        return partial(self._renamed, hidden=hidden)

    def _renamed(self, step: Step, hidden: Collection[str] = ()) -> Step:
        made = map_references(step, lambda reference: self._reference(reference, hidden))
        update: dict[str, object] = {}
        if not hidden:
            for field in ("depends_on", "program_order"):
                entries = tuple(dict.fromkeys(map(self._entry, getattr(step, field))))
                if entries != getattr(step, field):
                    update[field] = entries
        return made.model_copy(update=update) if update else made

    def _entry(self, entry: str | Dependency | AnyOf) -> str | Dependency | AnyOf:
        # Steps that others name in another way are in no group.
        return self._names.get(entry, entry) if isinstance(entry, str) else entry

    def _reference(self, reference: StepRef, hidden: Collection[str] = ()) -> StepRef:
        there = self._outputs.get((reference.step, reference.output))
        if there is None or reference.step in hidden:
            return reference
        return reference.model_copy(update={"step": there[0], "output": there[1]})


def name_of(members: Sequence[str], taken: Collection[str]) -> str:
    """Return a name for a group that no step has."""
    start = f"{members[0]}-to-{members[-1]}"
    numbered = (f"{start}-{number}" for number in itertools.count(2))
    return next(name for name in itertools.chain((start,), numbered) if name not in taken)


def _reads(outputs: Iterable[Output]) -> Iterator[Read]:
    for output in outputs:
        for reference in output_references(output.value):
            yield reference.step, reference.output


def _readers(steps: Sequence[Step]) -> dict[str, list[tuple[str, str]]]:
    """Return for each step the outputs that are read of it, each with the name of its reader."""
    found: dict[str, list[tuple[str, str]]] = {}
    for step in steps:
        for one in references(step):
            found.setdefault(one.step, []).append((one.output, step.name))
    return found
