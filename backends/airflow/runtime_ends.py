"""Functions that DAG files carry about the edges of their tasks, called when the file is read."""

from __future__ import annotations

from typing import Any

MODULES: dict[str, tuple[str, ...]] = {"typing": ("Any",)}
"""Where the names come from that the functions use."""


def wait_for_all(dag: Any) -> None:
    """Have each task that runs after any end wait for all before it."""
    for task in dag.tasks:
        if runs_after_any_end(task):
            before: set[str] = set()
            found = set(task.upstream_task_ids)
            while found:
                before |= found
                walked = (one for one in map(dag.get_task, found) if not runs_after_any_end(one))
                found = {up for one in walked for up in one.upstream_task_ids} - before
            ended = {up for one in before for up in ended_before(dag.get_task(one))}
            for one in sorted(before - ended - task.upstream_task_ids):
                task.set_upstream(dag.get_task(one))


def runs_after_any_end(task: Any) -> bool:
    """Return whether a task waits until all tasks right before it have ended, in any way."""
    return task.trigger_rule in ("all_done", "all_done_setup_success")


def ended_before(task: Any) -> set[str]:
    """Return which tasks right before one have surely ended when it has."""
    found: set[str] = task.upstream_task_ids
    if runs_after_any_end(task) or not found:
        return found
    first, *others = task.upstream_list
    is_mapped = first.is_mapped or first.get_closest_mapped_task_group() is not None
    return set() if others or is_mapped else found


def before(rounds: list[Any]) -> list[Any]:
    """Return the last of the rounds so far, and those 2, 4, 8... back: a skip reaches all soon."""
    return [rounds[-(2**power)] for power in range(len(rounds).bit_length())]
