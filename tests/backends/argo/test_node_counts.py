"""Nodes of a run, counted by hand."""

from __future__ import annotations

import pytest

import couler
from couler import stages
from couler.backends.argo.footprint import NodeCounts
from couler.backends.argo.pods import Tree
from couler.errors import InvalidWorkflowError

LEAF: Tree = {"name": "leaf", "container": {}}


def spec(*tasks: Tree, **fields: object) -> Tree:
    main = {"name": "main", "dag": {"tasks": list(tasks)}}
    more = fields.pop("templates", ())
    return {"entrypoint": "main", "templates": [main, LEAF, *more], **fields}  # type: ignore[misc]


def task(template: str = "leaf", **fields: object) -> Tree:
    return {"name": "t", "template": template, **fields}


INNER: Tree = {"name": "inner", "dag": {"tasks": [task(), task(), task()]}}
ROUND: Tree = {"name": "round", "dag": {"tasks": [task(), task("round")]}}
AGAIN: Tree = {"name": "again", "container": {}, "retryStrategy": {"limit": "2"}}


@pytest.mark.parametrize(
    ("tree", "nodes"),
    [
        (spec(), 1),
        (spec(task(), task()), 3),
        (spec(task(withItems=[1, 2, 3])), 1 + 1 + 3),
        (spec(task(withSequence={"count": "4"})), 1 + 1 + 4),
        (spec(task(withSequence={"start": "5", "end": "2"})), 1 + 1 + 4),
        (spec(task(withSequence={"count": "{{=n}}"})), 1 + 1 + 1),
        (spec(task(withParam="{{inputs.parameters.list}}")), 1 + 1 + 1),
        (spec(task("inner"), task("inner"), templates=[INNER]), 1 + 2 * (1 + 3)),
        (spec(task("inner", withItems=[1, 2]), templates=[INNER]), 1 + 1 + 2 * (1 + 3)),
        (spec(task("again"), templates=[AGAIN]), 1 + 1 + 1),
        (spec(task("round"), templates=[ROUND]), 1 + 1 + 2),
        (spec(task(hooks={"exit": {"template": "inner"}}), templates=[INNER]), 1 + 1 + (1 + 3)),
        (spec(task(), templates=[INNER], onExit="inner"), 2 + (1 + 3)),
        (spec(task("of-another-object")), 2),
    ],
)
def test_nodes_by_hand(tree: Tree, nodes: int) -> None:
    assert NodeCounts.of_run(tree) == nodes


def mapped(items: int, inner: int) -> couler.Workflow:
    with couler.Workflow("wide") as flow:

        def steps(number: object) -> None:
            for place in range(inner):
                couler.run_container("tool:1", ["work"], [number], step_name=f"s{place}")

        couler.map(steps, list(range(items)))
    return flow


@pytest.mark.parametrize(("items", "inner", "nodes"), [(30_000, 1, "30,001"), (900, 51, "46,801")])
def test_items_take_room_in_the_state_of_a_run(items: int, inner: int, nodes: str) -> None:
    with pytest.raises(InvalidWorkflowError) as refused:
        stages.plan(mapped(items, inner), engine="argo")
    [told] = refused.value.diagnostics
    assert told.code == "CLR513"
    assert f"The {items:,} items of " in told.message
    assert f" make {nodes} nodes of it" in told.message
