"""The tasks of a template and what they wait for, as a restart needs to know them."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator

from couler.backends.argo.parts import HELPER_TEMPLATES, PART_TEMPLATE
from couler.backends.remote import Json

_TASK = re.compile(r"([a-zA-Z][-a-zA-Z0-9]*)(?:\.[a-zA-Z]+)?")
_LISTS = ("withItems", "withParam", "withSequence")


class Task(t.NamedTuple):
    """A task of a DAG, or a step of parallel steps."""

    name: str
    """Name of its node."""
    tree: Json
    waits_for: tuple[str, ...] = ()
    """Names of the nodes of the tasks that come before it."""


class Stage(t.NamedTuple):
    """Tasks that one node of a template stands for."""

    tasks: tuple[Task, ...]
    node: str | None = None
    """Name of the node of parallel steps; None for a DAG, whose own node it is."""


def stages_of(name: str, template: Json) -> tuple[Stage, ...]:
    """Return the stages of a template, the first first; none for one that runs something itself."""
    dag = template.get("dag")
    if dag is not None:
        tasks = (
            Task(
                f"{name}.{tree['name']}",
                tree,
                tuple(f"{name}.{before}" for before in _waits_for(tree)),
            )
            for tree in dag.get("tasks") or ()
        )
        return (Stage(tuple(tasks)),)
    stages: list[Stage] = []
    before: tuple[str, ...] = ()
    for number, steps in enumerate(template.get("steps") or ()):
        node = f"{name}[{number}]"
        parallel = tuple(Task(f"{node}.{tree['name']}", tree, before) for tree in steps)
        stages.append(Stage(parallel, node))
        before = tuple(task.name for task in parallel)
    return tuple(stages)


def _waits_for(task: Json) -> tuple[str, ...]:
    named = [match[1] for match in _TASK.finditer(task.get("depends") or "")]
    return tuple(dict.fromkeys((*named, *(task.get("dependencies") or ()))))


def role_of(task: Json) -> t.Literal["part", "helper"] | None:
    """Return what a task is for that is none of the steps of the workflow."""
    template = task.get("template") or ""
    if template in HELPER_TEMPLATES:
        return "helper"
    return "part" if template.startswith(PART_TEMPLATE) else None


def expands(task: Json) -> bool:
    """Return whether a task has an instance an item."""
    return any(task.get(name) is not None for name in _LISTS)


def item_count(task: Json) -> int | None:
    """Return how many items a task has; None if that is known at run time only."""
    items = task.get("withItems")
    return len(items) if isinstance(items, list) and not _is_computed(items) else None


def _is_computed(items: list[Json]) -> bool:
    return len(items) == 1 and isinstance(items[0], str) and "{{" in items[0]


def enclosing(name: str) -> Iterator[str]:
    """Yield the name of a node and those of all that it is in, by the way names are made."""
    in_item = False
    for position, character in enumerate(name):
        if character in ".([" and not in_item and position:
            yield name[:position]
        if character in "()":  # Argo leaves parentheses out of the texts of items
            in_item = character == "("
    yield name
