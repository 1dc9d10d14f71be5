"""Random divisions of workflows into parts that do not wait for each other in a circle."""

from __future__ import annotations

import random
from collections.abc import Sequence

from couler.ir.graph import Graph
from couler.ir.policies import Part
from couler.ir.rewrite import map_scopes
from couler.ir.workflow import Group, Step, Workflow


def divided(workflow: Workflow, seed: int, *, runs: bool = True) -> Workflow:
    """Return a workflow with parts in all of its scopes; a seed always gives the same.

    Without `runs` no part has a run of its own.

    A topological order of the steps of a scope is cut into pieces: no piece waits for a later one.
    Some pieces are parts, and steps of the others are by themselves.
    """
    chance = random.Random(seed)
    handlers = tuple(
        one.model_copy(update={"steps": _divided(one.steps, chance, has_runs=False)})
        for one in workflow.exit_handlers
    )
    steps = _divided(workflow.steps, chance, has_runs=runs)
    return workflow.model_copy(update={"steps": steps, "exit_handlers": handlers})


def undivided(workflow: Workflow) -> Workflow:
    """Return a workflow without parts."""
    return map_scopes(
        workflow,
        lambda scope: tuple(step.model_copy(update={"part": None}) for step in scope.steps),
    )


def _divided(steps: Sequence[Step], chance: random.Random, *, has_runs: bool) -> tuple[Step, ...]:
    parts: dict[str, Part | None] = {}
    groups = 0
    for number, piece in enumerate(_pieces(_some_order(steps, chance), chance)):
        run = f"run-{number}" if has_runs and chance.random() < 0.5 else None
        for part in _pieces(piece, chance):
            groups += 1
            group = f"group-{groups}" if chance.random() < 0.7 else None
            parts.update(dict.fromkeys(part, Part(run=run, group=group) if run or group else None))
    return tuple(_step(step, parts[step.name], chance) for step in steps)


def _step(step: Step, part: Part | None, chance: random.Random) -> Step:
    fields: dict[str, object] = {"part": part}
    if isinstance(step.action, Group):
        inner = _divided(step.action.steps, chance, has_runs=False)
        fields["action"] = step.action.model_copy(update={"steps": inner})
    return step.model_copy(update=fields)


def _some_order(steps: Sequence[Step], chance: random.Random) -> list[str]:
    """Return a random topological order."""
    graph = Graph.of(steps)
    count = {name: len(before) for name, before in graph.predecessors.items()}
    ready = [name for name, number in count.items() if not number]
    order: list[str] = []
    while ready:
        order.append(ready.pop(chance.randrange(len(ready))))
        for after in graph.successors[order[-1]]:
            count[after] -= 1
            if not count[after]:
                ready.append(after)
    assert len(order) == len(steps), "the steps wait for each other in a circle"
    return order


def _pieces(order: Sequence[str], chance: random.Random) -> list[Sequence[str]]:
    cuts = sorted(chance.sample(range(1, len(order)), chance.randrange(len(order))))
    return [order[start:end] for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]
