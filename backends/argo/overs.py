"""What a compiled workflow has too much of, told by the parts that its steps are in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from couler.backends.argo.check import status_bytes
from couler.backends.argo.child_runs import BODY, STOP, run_name
from couler.backends.argo.limits import MAX_PARAMETERS
from couler.backends.argo.manifest import Manifest
from couler.backends.argo.parts import PART_TEMPLATE
from couler.backends.argo.pods import Tree
from couler.backends.argo.workflow_api import PART_LABEL
from couler.ir.sizes import Limits, Over, Where
from couler.ir.wire import dump_json


def overs(manifest: Manifest, limits: Limits) -> Iterator[Over]:
    """Yield what is over the limits in the objects of a manifest and in the templates of parts."""
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
    starts = {one["name"]: one for one in templates if "resource" in one}
    starts = {name: one for name, one in starts.items() if name.startswith(PART_TEMPLATE)}
    found = sum(_size(one) for one in starts.values())
    for template in templates:
        for task in template.get("dag", {}).get("tasks", ()):
            if task["template"] in starts or task["template"] == STOP:
                found += _size(task)
    return found


def _size(tree: Tree) -> int:
    return len(dump_json(tree).encode())
