"""What tasks that run after any end wait for, as the file is read."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass, field

import pytest

from couler.backends.airflow.runtime import before, wait_for_all


@dataclass
class Task:
    """A task of Airflow, as far as its edges go."""

    dag: Dag
    task_id: str
    upstream_task_ids: set[str]
    trigger_rule: str = "none_failed"
    is_mapped: bool = False
    group: str | None = None

    @property
    def upstream_list(self) -> list[Task]:
        return [self.dag.known[one] for one in self.upstream_task_ids]

    def get_closest_mapped_task_group(self) -> str | None:
        return self.group

    def set_upstream(self, other: Task) -> None:
        self.upstream_task_ids.add(other.task_id)


@dataclass
class Dag:
    known: dict[str, Task] = field(default_factory=dict)

    @property
    def tasks(self) -> list[Task]:
        return [*self.known.values()]

    def get_task(self, name: str) -> Task:
        return self.known[name]

    def add(self, name: str, *before: str, **fields: t.Any) -> None:
        self.known[name] = Task(self, name, set(before), **fields)


def waits(dag: Dag, name: str = "end") -> list[str]:
    wait_for_all(dag)
    return sorted(dag.known[name].upstream_task_ids)


@pytest.mark.parametrize("fields", [{"is_mapped": True}, {"group": "each"}])
def test_all_items_are_waited_for(fields: dict[str, t.Any]) -> None:
    dag = Dag()
    dag.add("item", **fields)
    dag.add("sum", "item")
    dag.add("end", "sum", trigger_rule="all_done")
    assert waits(dag) == ["item", "sum"]


def test_a_task_that_has_waited_for_all_stands_for_them() -> None:
    dag = Dag()
    dag.add("a")
    dag.add("b")
    dag.add("join", "a", "b")
    dag.add("gate", "join", trigger_rule="all_done")
    dag.add("end", "gate", trigger_rule="all_done")
    assert waits(dag, "gate") == ["a", "b", "join"]
    assert waits(dag) == ["gate"]


def edges_of_rounds(count: int) -> dict[int, list[int]]:
    edges: dict[int, list[int]] = {}
    for number in range(count):
        edges[number] = before([*edges])
    return edges


def test_a_round_waits_for_the_one_before_it() -> None:
    edges = edges_of_rounds(10)
    assert (edges[0], edges[1], edges[2]) == ([], [0], [1, 0])
    assert edges[9] == [8, 7, 5, 1]
