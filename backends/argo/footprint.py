"""What a workflow takes of a Workflow object of Argo, worked out from its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from couler.backends.argo.check import status_bytes
from couler.backends.argo.limits import STATUS_BYTES
from couler.backends.argo.manifest import Manifest
from couler.backends.argo.node_counts import NodeCounts
from couler.backends.argo.pods import Tree
from couler.ir.sizes import Cost, Costs, Footprint, Limits, Over
from couler.ir.workflow import Workflow


def footprint(workflow: Workflow, manifest: Manifest, limits: Limits) -> Footprint:
    """Return what a workflow takes."""
    if {"templates", "entrypoint"} & workflow.engine.get("argo", {}).get("spec", {}).keys():
        limits = Limits()  # what runs is the program's own override, which parts would not change
    return Footprint(
        limits,
        size_bytes=lambda: len(manifest.json.encode()) + status_bytes(manifest.spec),
        definitions=lambda: len(_templates(manifest)),
        costs=lambda: _costs(workflow, manifest),
        overs=lambda: _overs(manifest, limits),
        stays=lambda: _stays(workflow),
    )


def _overs(manifest: Manifest, limits: Limits) -> tuple[Over, ...]:
    from couler.backends.argo.overs import overs

    return tuple(overs(manifest, limits))


def _stays(workflow: Workflow) -> Mapping[str, str]:
    from couler.backends.argo.run_limits import stays_in_first_run

    return stays_in_first_run(workflow)


def _templates(manifest: Manifest) -> list[Tree]:
    found: list[Tree] = manifest.spec.get("templates", [])
    return found


def _costs(workflow: Workflow, manifest: Manifest) -> Costs:
    """What each step takes: its task, the nodes of it, and the templates that it leads to."""
    templates = {template["name"]: template for template in _templates(manifest)}
    sizes = {name: _size(template) + 1 for name, template in templates.items()}
    nodes = NodeCounts(templates.values())
    entrypoint = templates[manifest.spec["entrypoint"]]
    tasks = entrypoint["dag"]["tasks"]
    reach = _Reach(templates)
    steps: dict[str, Cost] = {}
    for step, task in zip(workflow.steps, tasks, strict=True):
        definitions = reach.of(task)
        size = _size(task) + 1 + STATUS_BYTES * nodes.of_task(task)
        steps[step.name] = Cost(size, definitions)
    used = {name for cost in steps.values() for name in cost.definitions}
    in_steps = sum(cost.size_bytes for cost in steps.values())
    whole = len(manifest.json.encode()) + status_bytes(manifest.spec)
    inside = sum(sizes[name] for name in used)
    return Costs(steps, {name: sizes[name] for name in used}, whole - in_steps - inside)


class _Reach:
    """Finds the templates that tasks lead to, each once."""

    def __init__(self, templates: Mapping[str, Tree]) -> None:
        self._templates = templates
        self._known: dict[str, tuple[str, ...]] = {}

    def of(self, tree: Tree) -> tuple[str, ...]:
        """Return the templates that a task or template leads to, in the order of their names."""
        found: set[str] = set()
        waiting = [name for name in _names(tree) if name in self._templates]
        if len(waiting) == 1 and waiting[0] in self._known:
            return self._known[waiting[0]]
        first = tuple(waiting)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                inner = self._templates[name]
                waiting += [one for one in _names(inner) if one in self._templates]
        known = tuple(sorted(found))
        if len(first) == 1:
            self._known[first[0]] = known
        return known


def _names(tree: Tree) -> Iterator[str]:
    """Yield the names of the templates that a task, or a template of tasks, calls."""
    if "template" in tree:
        yield tree["template"]
    for hook in tree.get("hooks", {}).values():
        yield from _names(hook)
    tasks = [*tree.get("dag", {}).get("tasks", ())]
    tasks += [task for group in tree.get("steps", ()) for task in group]
    for task in tasks:
        yield from _names(task)


def _size(tree: Tree) -> int:
    return len(json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode())
