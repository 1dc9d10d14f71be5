"""Which features the order of steps, their iteration and their loops ask of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from couler.ir.features import Feature
from couler.ir.policies import AnyOf, Dependency, Foreach, Loop
from couler.ir.values import RoundRef, walk
from couler.ir.walk import (
    LOCAL,
    Scope,
    ScopeKey,
    explicit_dependencies,
    references,
    scopes,
    step_values,
)
from couler.ir.wire import is_file
from couler.ir.workflow import Group, Step, Workflow

Add = Callable[[Feature], object]


@dataclass(frozen=True)
class Enclosed:
    """A scope and what encloses it: the features of a step depend on them as well."""

    scope: Scope
    in_foreach: bool = False
    in_loop: bool = False

    @cached_property
    def foreaches(self) -> frozenset[str]:
        """Names of the steps of the scope that run once an item."""
        return frozenset(step.name for step in self.scope.steps if step.foreach is not None)


def enclosed_scopes(workflow: Workflow) -> Iterator[Enclosed]:
    """Yield every scope with what is around it, outer before inner."""
    outer: dict[ScopeKey, Enclosed] = {}
    for scope in scopes(workflow):
        around = Enclosed(scope)
        if scope.owner is not None:
            parent = outer[scope.key_around]
            around = Enclosed(
                scope,
                in_foreach=parent.in_foreach or scope.owner.foreach is not None,
                in_loop=parent.in_loop or scope.owner.loop is not None,
            )
        outer[scope.key] = around
        yield around


def add_order_features(step: Step, around: Enclosed, add: Add) -> None:
    """Add the features of what a step waits for."""
    plain = True
    for entry in step.depends_on:
        if not isinstance(entry, str):
            plain = False
            _add_dependency_features(entry, add)
    if not plain and _reads_late(step, around):
        add(Feature.FOREACH_READ_ON_COMPLETION)


def _add_dependency_features(entry: Dependency | AnyOf, add: Add) -> None:
    options: tuple[str | Dependency, ...] = (entry,) if isinstance(entry, Dependency) else ()
    if isinstance(entry, AnyOf):
        add(Feature.DEPENDS_ON_ANY)
        options = entry.options
    for option in options:
        if isinstance(option, Dependency):
            failure = option.on == "failure"
            add(Feature.DEPENDS_ON_FAILURE if failure else Feature.DEPENDS_ON_COMPLETION)


def add_foreach_features(step: Step, foreach: Foreach, around: Enclosed, add: Add) -> None:
    """Add the features of a step that runs once an item."""
    from couler.ir.ranges import is_known

    add(Feature.FOREACH)
    dynamic = not all(map(is_known, foreach.over.values()))
    if dynamic:
        add(Feature.FOREACH_OVER_OUTPUT)
    if len(foreach.over) > 1:
        add(Feature.FOREACH_ZIP)
    if isinstance(step.action, Group):
        add(Feature.FOREACH_GROUP)
    if dynamic and around.scope.owner is not None:
        add(Feature.FOREACH_OVER_OUTPUT_IN_GROUP)
    if around.in_foreach:
        add(Feature.FOREACH_IN_FOREACH)
        if dynamic:
            add(Feature.FOREACH_OVER_OUTPUT_IN_FOREACH)
    if around.in_loop:
        add(Feature.FOREACH_IN_LOOP)
    if foreach.max_parallel is not None:
        add(Feature.FOREACH_MAX_PARALLEL)
    if any(is_file(output.type) for output in step.outputs):
        add(Feature.FOREACH_FILES)


def add_loop_features(step: Step, loop: Loop, around: Enclosed, add: Add) -> None:
    """Add the features of a step that runs round by round."""
    add(Feature.LOOP)
    if isinstance(step.action, Group):
        add(Feature.LOOP_GROUP)
    if around.in_loop:
        add(Feature.LOOP_IN_LOOP)
    if around.in_foreach:
        add(Feature.LOOP_IN_FOREACH)
    if step.foreach is not None:
        add(Feature.LOOP_WITH_FOREACH)
    for field, text in step_values(step):
        if (
            field != "loop"
            and not field.startswith(LOCAL)
            and any(isinstance(value, RoundRef) for value in walk(text))
        ):
            add(Feature.LOOP_CARRIED)


def _reads_late(step: Step, around: Enclosed) -> bool:
    """Return whether a step reads from a foreach that may have failed."""
    ended_anyhow = {name for name, on in explicit_dependencies(step) if on != "success"}
    late = ended_anyhow & around.foreaches
    return bool(late) and any(reference.step in late for reference in references(step))
