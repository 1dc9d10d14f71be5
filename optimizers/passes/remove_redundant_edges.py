"""Dependencies that say nothing which other dependencies do not say as well."""

from __future__ import annotations

import typing as t
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass

from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.rewrite import map_scopes
from couler.ir.values import FirstOf, children, walk
from couler.ir.walk import (
    Scope,
    explicit_dependencies,
    implied_dependencies,
    references,
)
from couler.ir.workflow import Step, Workflow
from couler.optimizers.base import PassContext

Entry: t.TypeAlias = "str | Dependency | AnyOf"

_LISTED = 3
"""How many of the steps that a step no longer names its reason does."""


@dataclass(frozen=True)
class RemoveRedundantEdges:
    """Leave out what `depends_on` names although the order and the outcome follow without it.

    Before: any verified workflow. After: no step names the success of a step

    - that it reads an output of, and names in no other way: a read is such a dependency itself;
    - to whose success it is bound by a longer chain of dependencies on success (by name or by
      reading), unless it can be skipped while the branch of that other step is failed;

    nor the completion of a step that it waits for by another path, unless it can be skipped.
    Dependencies on a failure and those with alternatives stay: a step that meets no failure is
    `skipped`, which counts as well for those that need its success, so no chain implies them. A
    step that takes the first of several values stays as it is: which of them is certain to be
    there is told from the steps that it names.

    Preserved: the state and the outputs of every step, all paths, the order in which steps can
    start, the status of every scope.

    Why: along a chain a -> b -> ... -> c of dependencies on success, if `a` is failed or omitted
    all that follow are omitted and have a failed branch, with or without the edge a -> c. If `a`
    succeeded, was cached or skipped, the edge is met. What else it does is to hand on a failed
    branch to `c`, where `c` itself does not run. If `c` is omitted, another step that it needs did
    not succeed, and that has a failed branch. So it can matter only if `c` is skipped, and `a` was
    skipped too, below a failure. (docs/semantics.md, sections 3 and 4.) Longest chains consist of
    edges that stay, so all such edges can go at once.

    O((1 + s / 4096) (n + m)) for n steps, m edges, and s steps that others name although they are
    not the last of those that they wait for.

    References
    ----------
    A. V. Aho, M. R. Garey, J. D. Ullman: The transitive reduction of a directed graph. SIAM
    Journal on Computing 1 (2), 1972.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> def step(name, *after):
    ...     return Step(name=name, action=Container(image="alpine"), depends_on=after)
    >>> flow = Workflow(name="w", steps=(step("a"), step("b", "a"), step("c", "a", "b")))
    >>> RemoveRedundantEdges().run(flow, PassContext()).steps[2].depends_on
    ('b',)
    """

    name: t.ClassVar[str] = "remove-redundant-edges"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow without these dependencies."""
        removed = 0

        def change(scope: Scope) -> tuple[Step, ...]:
            nonlocal removed
            redundant = _redundant(scope.steps)
            if not redundant:
                return scope.steps
            removed += sum(map(len, redundant.values()))
            steps: list[Step] = []
            for step in scope.steps:
                gone = redundant.get(step.name)
                if gone:
                    kept = tuple(entry for entry in step.depends_on if entry not in gone)
                    step = step.model_copy(update={"depends_on": kept})
                    context.explain(_reason(gone), step=scope.path_of(step))
                steps.append(step)
            return tuple(steps)

        made = map_scopes(workflow, change)
        if removed:
            what = "1 dependency is" if removed == 1 else f"{removed:,} dependencies are"
            context.explain(f"{what} left out: other paths wait for the same steps.")
        return made


def _reason(gone: AbstractSet[Entry]) -> str:
    names = sorted(one.step if isinstance(one, Dependency) else str(one) for one in gone)
    told = ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "")
    return f"It waits for {told} all the same."


def _redundant(steps: tuple[Step, ...]) -> dict[str, set[Entry]]:
    """Return for each step the entries of `depends_on` that can go."""
    found: dict[str, set[Entry]] = {}
    if not any(step.depends_on for step in steps):
        return found
    graph, by_name = Graph.of(steps), {step.name: step for step in steps}
    order = [name for level in graph.levels for name in level]
    level_of = {name: number for number, level in enumerate(graph.levels) for name in level}
    strict = {step.name: _strict(step, graph) for step in steps}
    tidy = _tidy(by_name, order, graph, strict)
    edges = {"success": strict, "any end": graph.predecessors}
    wanted: dict[str, dict[str, dict[str, Entry]]] = {kind: {} for kind in edges}
    for step in steps:
        if not step.depends_on:
            continue
        read = {reference.step for reference in references(step)}
        for entry, name in _named_once(step):
            if name in read:
                if entry == name:
                    found.setdefault(step.name, set()).add(entry)
                continue
            kind = "success"
            if _can_be_skipped(step):
                if name not in tidy:
                    continue
            elif entry != name:
                kind = "any end"
            befores = edges[kind][step.name]
            if max(map(level_of.__getitem__, befores), default=0) > level_of[name]:
                wanted[kind].setdefault(step.name, {})[name] = entry
    for kind, candidates in wanted.items():
        for name, before in _bypassed(candidates, edges[kind], order, level_of):
            if not _takes_first(by_name[name]):
                found.setdefault(name, set()).add(candidates[name][before])
    return found


def _strict(step: Step, graph: Graph) -> tuple[str, ...]:
    """Return the steps of the scope without whose success a step is omitted."""
    names = dict.fromkeys(entry for entry in step.depends_on if isinstance(entry, str))
    names.update(dict.fromkeys(implied_dependencies(step)))
    return tuple(name for name in names if name in graph.predecessors)


def _named_once(step: Step) -> Iterator[tuple[Entry, str]]:
    """Yield what depends on one step's success or completion, if nothing else names that step."""
    counts = Counter(name for name, _ in explicit_dependencies(step))
    for entry in step.depends_on:
        if isinstance(entry, str) and counts[entry] == 1:
            yield entry, entry
        elif isinstance(entry, Dependency) and entry.on == "completion" and counts[entry.step] == 1:
            yield entry, entry.step


def _can_be_skipped(step: Step) -> bool:
    asks_for_failure = any(on == "failure" for _, on in explicit_dependencies(step))
    return step.when is not None or asks_for_failure


def _tidy(
    steps: Mapping[str, Step],
    order: Iterable[str],
    graph: Graph,
    strict: Mapping[str, Sequence[str]],
) -> set[str]:
    """Return the steps that have no failed branch unless they failed or were omitted."""
    tidy: set[str] = set()
    for name in order:
        is_strict = len(strict[name]) == len(graph.predecessors[name])
        if not _can_be_skipped(steps[name]) or (is_strict and tidy.issuperset(strict[name])):
            tidy.add(name)
    return tidy


def _takes_first(step: Step) -> bool:
    return any(isinstance(one, FirstOf) for value in children(step) for one in walk(value))


_AT_ONCE = 4096
"""How many starts of paths are followed at the same time, as the bits of an integer."""


def _bypassed(
    wanted: Mapping[str, Mapping[str, Entry]],
    befores: Mapping[str, Sequence[str]],
    order: Sequence[str],
    level_of: Mapping[str, int],
) -> Iterator[tuple[str, str]]:
    """Yield those of the wanted edges, as step and predecessor, that a longer path goes round."""
    starts = sorted({name for some in wanted.values() for name in some}, key=level_of.__getitem__)
    for first in range(0, len(starts), _AT_ONCE):
        block = starts[first : first + _AT_ONCE]
        bits = {name: 1 << number for number, name in enumerate(block)}
        low = level_of[block[0]]
        reached: dict[str, int] = {}
        for name in order:
            if level_of[name] <= low:
                continue
            near = far = 0
            for before in befores[name]:
                near |= bits.get(before, 0)
                far |= reached.get(before, 0)
            if near | far:
                reached[name] = near | far
                for before in wanted.get(name, ()):
                    if bits.get(before, 0) & far:
                        yield name, before
