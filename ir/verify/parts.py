"""Rules for parts: their names, how they nest, and that none waits for itself through others."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from functools import partial

from couler.ir.graph import Graph
from couler.ir.policies import Part
from couler.ir.verify.names import check_label_name
from couler.ir.verify.scope import ScopeView
from couler.ir.walk import predecessors
from couler.ir.workflow import Step

_Part: t.TypeAlias = tuple[t.Literal["run", "group", "step"], str]
"""A part, or a step that is one by itself."""


def check_parts(view: ScopeView) -> None:
    """Check the parts of a scope that has some, in time linear in its steps and edges."""
    parts = {name: step.part for name, step in view.steps.items() if step.part is not None}
    _check_names(view, parts)
    _check_nesting(view, parts)
    order = {name: predecessors(step) for name, step in view.steps.items()}
    if len(Graph(order).topological_order) < len(order):
        return  # the steps themselves wait for each other, which has its own message
    outer: dict[str, _Part] = {}
    groups: dict[str, _Part] = {}
    runs: dict[str, dict[str, tuple[str, ...]]] = {}
    for name, part in parts.items():
        if part.group is not None:
            outer[name] = groups[name] = ("group", part.group)
        if part.run is not None:
            outer[name] = ("run", part.run)
            runs.setdefault(part.run, {})[name] = order[name]
    _check_circle(view, outer, order)
    for within in runs.values():
        _check_circle(view, groups, within)


def _check_names(view: ScopeView, parts: Mapping[str, Part]) -> None:
    seen: set[str] = set()
    for name, part in parts.items():
        for given in (part.run, part.group):
            if given is None or given in seen:
                continue
            seen.add(given)
            report = partial(_add, view, view.steps[name])
            check_label_name(given, "part", report)


def _add(view: ScopeView, step: Step, code: str, message: str) -> None:
    view.add(code, step, message)


def _check_nesting(view: ScopeView, parts: Mapping[str, Part]) -> None:
    first: dict[str, tuple[str, str | None]] = {}
    in_workflow = view.owner is None and view.handler is None
    for name, part in parts.items():
        if part.run is not None and not in_workflow:
            view.add(
                "CLR209",
                view.steps[name],
                f'its part has a run of its own, "{part.run}", which only steps of the workflow\'s '
                "own scope have. Give it a group instead.",
            )
            return
        if part.group is None:
            continue
        other, run = first.setdefault(part.group, (name, part.run))
        if run != part.run:
            view.add(
                "CLR209",
                view.steps[name],
                f'its group "{part.group}" belongs to {_run(part.run)}, but in the step "{other}" '
                f"to {_run(run)}. Give the groups of different runs different names.",
            )
            return


def _run(name: str | None) -> str:
    return "the run of the workflow" if name is None else f'the run "{name}"'


def _check_circle(
    view: ScopeView, part_of: Mapping[str, _Part], order: Mapping[str, tuple[str, ...]]
) -> None:
    """Report one circle of parts that stand beside each other."""
    nodes: dict[str, _Part] = {name: part_of.get(name, ("step", name)) for name in order}
    edges: dict[str, dict[str, None]] = {}
    labels: dict[_Part, str] = {}
    for name, node in nodes.items():
        label = labels.setdefault(node, name)  # a part goes by the first of its steps
        waits = edges.setdefault(label, {})
        for before in order[name]:
            other = nodes.get(before)
            if other is not None and other != node:
                waits[labels.setdefault(other, before)] = None
    circle = Graph(edges).find_cycle()
    if circle:
        told = " -> ".join(f'{kind} "{part}"' for kind, part in map(nodes.__getitem__, circle))
        view.add(
            "CLR208",
            view.steps[circle[0]],
            f"its part waits for itself: {told}. Put what is on this way into one part.",
        )
