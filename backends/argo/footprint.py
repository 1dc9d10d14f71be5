"""What a workflow takes of a Workflow object of Argo, worked out from its manifest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from couler.backends.argo.check import status_bytes
from couler.backends.argo.limits import MAX_PARAMETERS, STATUS_BYTES, stays_in_first_run
from couler.backends.argo.manifest import Manifest
from couler.backends.argo.node_counts import NodeCounts
from couler.backends.argo.parts import PART_TEMPLATE
from couler.backends.argo.pods import Tree
from couler.ir.sizes import Cost, Costs, Footprint, Limits, Over, Where
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
        overs=lambda: tuple(exceeded_limits(manifest, limits)),
        stays=lambda: stays_in_first_run(workflow),
    )


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


def exceeded_limits(manifest: Manifest, limits: Limits) -> Iterator[Over]:
    """Yield what is over the limits in the objects of a manifest and in the templates of parts."""
    from couler.backends.argo.workflow_api import PART_LABEL

    *parts, main = zip((*manifest.definitions, manifest.tree), manifest.texts, strict=True)
    for tree, text in (main, *parts):
        is_main = tree is manifest.tree
        where: Where = "main" if is_main else "run"
        spec: Tree = manifest.spec if is_main else tree["spec"]
        templates: list[Tree] = spec.get("templates", [])
        name = "" if is_main else tree["metadata"]["labels"][PART_LABEL]
        between = _between_runs(templates) if is_main and manifest.definitions else 0
        size = len(text.encode()) + status_bytes(spec)
        if limits.run_bytes is not None and size > limits.run_bytes:
            yield Over(where, name, "bytes", size, limits.run_bytes, between)
        if limits.run_definitions is not None and len(templates) > limits.run_definitions:
            yield Over(where, name, "definitions", len(templates), limits.run_definitions)
        if limits.scope_steps is not None:
            yield from _in_templates(spec, templates, name, limits.scope_steps)


def _in_templates(
    spec: Tree, templates: Iterable[Tree], run: str, most_tasks: int
) -> Iterator[Over]:
    """Yield what the templates of parts, and those that hold parts, have too much of."""
    from couler.backends.argo.child_runs import BODY, run_name

    root = next((_called(one) for one in templates if one["name"] == BODY), "") if run else ""
    for template in templates:
        name: str = template["name"]
        where: Where
        tasks = len(template.get("dag", {}).get("tasks", ()))
        values = len(template.get("inputs", {}).get("parameters", ()))
        if name.startswith(PART_TEMPLATE):
            part, where = name.removeprefix(PART_TEMPLATE), "group"
            if "resource" in template or name == root:
                part, where = run_name(part), "run"
            if tasks > most_tasks:
                yield Over(where, part, "steps", tasks, most_tasks)
            if values > MAX_PARAMETERS:
                yield Over(where, part, "values", values, MAX_PARAMETERS)
        elif tasks > most_tasks and name in (spec["entrypoint"], spec.get("onExit")):
            yield Over("main", "", "steps", tasks, most_tasks)


def _called(body: Tree) -> str:
    called: str = body["steps"][0][0]["template"]
    return called


def _between_runs(templates: Iterable[Tree]) -> int:
    """Return the bytes of what starts, ends and connects the runs of parts."""
    from couler.backends.argo.child_runs import STOP

    starts = {one["name"]: one for one in templates if "resource" in one}
    starts = {name: one for name, one in starts.items() if name.startswith(PART_TEMPLATE)}
    found = sum(_size(one) for one in starts.values())
    for template in templates:
        for task in template.get("dag", {}).get("tasks", ()):
            if task["template"] in starts or task["template"] == STOP:
                found += _size(task)
    return found
