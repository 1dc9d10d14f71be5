"""Which task instances run again, for steps that do."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from couler.backends.airflow.instances import RunSteps
from couler.backends.airflow.restarting import to_clear
from couler.backends.airflow.task_states import Instance, Task, TaskTable
from couler.ir.workflow import Workflow
from tests.corpus.build import (
    compare,
    flow,
    given,
    group,
    item,
    last,
    out,
    ref,
    sh,
    while_,
)


def cleared(workflow: Workflow, tasks: Mapping[str, str], edges: str, *again: str) -> set[str]:
    """Return what runs again; tasks are written `each[2]`, edges `a b, b c`."""
    made: dict[Instance, Task] = {}
    for name, state in tasks.items():
        task, _, index = name.partition("[")
        made[task, int(index.rstrip("]") or -1)] = Task(state)
    table = TaskTable(made, has_failed=True, was_cancelled=False)
    after: dict[str, list[str]] = {task: [] for task, _ in made}
    for edge in edges.split(", "):
        before, _, behind = edge.partition(" ")
        after[before].append(behind)
    steps = RunSteps(workflow, table, lambda _: [1])
    found = to_clear(workflow, steps, table, after, frozenset(again))
    return {task if index < 0 else f"{task}[{index}]" for task, index in found}


def test_what_has_succeeded_stays_unless_it_is_named() -> None:
    chain = flow(
        "f",
        sh("a", "true"),
        sh("b", "true", depends_on=["a"]),
        sh("c", "true", depends_on=["b"]),
        sh("beside", "true", depends_on=["a"]),
    )
    tasks = {"a": "success", "b": "failed", "c": "upstream_failed", "beside": "success"}
    edges = "a b, b c, a beside"
    assert cleared(chain, tasks, edges, "b", "c") == {"b", "c"}
    assert cleared(chain, tasks, edges, "b") == {"b", "c"}
    assert cleared(chain, tasks, edges, "a", "b", "c") == {"a", "b", "c"}
    assert cleared(chain, tasks, edges) == set()


def test_tasks_of_other_items_of_a_group_stay() -> None:
    body = group(
        "g",
        sh("x", "true"),
        sh("y", "true", depends_on=["x"]),
        foreach=[1, 2],
        inputs=[given("n", item())],
        outputs=[out("o", source=ref("y"))],
    )
    tasks = {f"g.item.{name}[0]": "success" for name in ("x", "y", "end")}
    tasks |= {"g.item.x[1]": "success", "g.item.y[1]": "failed", "g.item.end[1]": "upstream_failed"}
    tasks["g-lists"] = "upstream_failed"
    edges = "g.item.x g.item.y, g.item.y g.item.end, g.item.end g-lists"
    assert cleared(flow("f", body), tasks, edges, "g[1]/y") == {
        "g.item.y[1]",
        "g.item.end[1]",
        "g-lists",
    }
    assert cleared(flow("f", body), tasks, edges, "g[1]") == {
        "g.item.x[1]",
        "g.item.y[1]",
        "g.item.end[1]",
        "g-lists",
    }


@pytest.mark.parametrize(("again", "first"), [("r@2", 2), ("r@1", 1), ("r", 0)])
def test_rounds_after_one_run_again(again: str, first: int) -> None:
    loop = while_(compare(last(), "!=", "y"), 4)
    rounds = flow("f", sh("r", "echo $1", last(initial="x"), loop=loop))
    states = ("success", "success", "failed", "upstream_failed")
    tasks = {f"r.round_{number}": state for number, state in enumerate(states)}
    tasks["r.bound_4"] = "upstream_failed"
    edges = "r.round_0 r.round_1, r.round_1 r.round_2, r.round_2 r.round_3, r.round_3 r.bound_4"
    wanted = {f"r.round_{number}" for number in range(first, 4)} | {"r.bound_4"}
    assert cleared(rounds, tasks, edges, again) == wanted


def test_a_group_that_never_began_opens_for_what_is_inside() -> None:
    chain = flow("f", sh("a", "true"), group("g", sh("x", "true"), depends_on=["a"]))
    tasks = {"a": "success", "g.x": "upstream_failed"}
    assert cleared(chain, tasks, "a g.x", "g/x") == {"g.x"}


def test_a_list_that_has_grown_is_expanded_again() -> None:
    each = flow("f", sh("list", "true", result="list"), sh("m", "true", foreach={"n": ref("list")}))
    tasks = {"list": "success", "m-items": "success", "m[0]": "success", "m[1]": "success"}
    tasks["m-lists"] = "success"
    edges = "list m-items, m-items m, m m-lists"
    found = cleared(each, tasks, edges, "list", "m[2]")
    assert found == {"list", "m-items", "m[1]", "m-lists"}
