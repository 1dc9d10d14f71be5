"""Which templates of a manifest a template uses, directly or through others."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence

from couler.backends.argo.pods import Tree


def reachable(templates: Mapping[str, Tree], roots: Iterable[str]) -> list[str]:
    """Return the names of the templates that some use, their own among them, in stated order."""
    found: set[str] = set()
    waiting = [name for name in roots if name in templates]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += [used for used in _used(templates[name]) if used in templates]
    return [name for name in templates if name in found]


def _used(template: Tree) -> Iterator[str]:
    tasks = (template.get("dag") or {}).get("tasks") or ()
    yield from _calls(tasks)
    for group in template.get("steps") or ():
        yield from _calls(group if isinstance(group, list) else group.get("steps") or ())
    yield from hooked(template)


def _calls(tasks: Sequence[t.Any]) -> Iterator[str]:
    for task in tasks:
        if task.get("template"):
            yield task["template"]
        if task.get("inline"):
            yield from _used(task["inline"])
        yield from hooked(task)


def hooked(tree: Tree) -> Iterator[str]:
    """Yield the templates of the hooks of a task, or of the spec of a workflow."""
    if tree.get("onExit"):
        yield tree["onExit"]
    for hook in (tree.get("hooks") or {}).values():
        if hook.get("template"):
            yield hook["template"]
