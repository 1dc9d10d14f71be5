"""What DAG files read from the states of tasks."""

from __future__ import annotations

import types
import typing as t
from collections.abc import Mapping

import pytest

from couler.backends.airflow import runtime
from couler.backends.airflow.runtime import (
    check_end,
    ended_so,
    if_started,
    open_gate,
    run_failed,
)
from couler.backends.airflow.runtime_places import states_near
from tests.backends.airflow.test_runtime import RefusedError

States = Mapping[tuple[str, int], str]


class Tasks(dict[str, t.Any]):
    """The tasks of a DAG, which count how often one is looked at."""

    looked_at = 0

    def __getitem__(self, name: str) -> t.Any:
        self.looked_at += 1
        return super().__getitem__(name)


class Instance:
    """A task instance, that of the last task, among tasks with states."""

    dag_id, run_id, task_id = "w", "run", "last"

    def __init__(
        self, states: States, above: Mapping[str, list[str]] | None = None, index: int = -1
    ) -> None:
        self.states, self.map_index, self.asked = states, index, 0
        self.tasks = Tasks()
        for name, number in states:
            group = types.SimpleNamespace(group_id="g.item") if name.startswith("g.item") else None
            before = (above or {}).get(name, [])
            self.tasks[name] = types.SimpleNamespace(
                task_id=name,
                upstream_task_ids=before,
                op_args=[[["failure", one, [one]]] for one in before],
                is_mapped=number >= 0 and group is None,
                get_closest_mapped_task_group=lambda group=group: group,
                trigger_rule="none_failed",
                python_callable=open_gate if name.endswith("needs_") else None,
            )
        own = types.SimpleNamespace(group_id="g.item") if index >= 0 else None
        self.task = types.SimpleNamespace(
            dag=types.SimpleNamespace(task_dict=self.tasks, get_task=self.tasks.__getitem__),
            get_closest_mapped_task_group=lambda: own,
        )

    def get_task_states(
        self, dag_id: str, run_ids: list[str], task_ids: list[str] | None = None
    ) -> dict[str, dict[str, str]]:
        """Return them as Airflow does: one name may stand for two tasks."""
        assert (dag_id, run_ids) == ("w", ["run"])
        self.asked += 1
        found = {
            task if index < 0 else f"{task}_{index}": state
            for (task, index), state in self.states.items()
            if task_ids is None or task in task_ids
        }
        return {"run": found}


def test_items_of_a_task_without_items_are_no_items_of_another() -> None:
    states = {("a", 0): "success", ("a_1", -1): "skipped", ("a_1_1", 0): "failed"}
    assert states_near(Instance(states)) == {
        "a": {"success"},
        "a_1": {"skipped"},
        "a_1_1": {"failed"},
    }


def test_a_task_in_an_item_sees_its_own() -> None:
    states = {
        ("g.item.w", 0): "failed",
        ("g.item.w", 1): "success",
        ("g.item.w_1", 0): "success",
        ("g.item.w_1", 1): "skipped",
        ("before", -1): "success",
    }
    seen = {"before": {"success"}, "g.item.w": {"success"}, "g.item.w_1": {"skipped"}}
    assert states_near(Instance(states, index=1)) == seen
    assert if_started(Instance(states, index=1), "g.item.w_1", "given") is None
    assert if_started(Instance(states, index=0), "g.item.w_1", "given") == "given"


def test_a_failure_is_that_of_no_gate() -> None:
    gate = {("g.x-needs", -1): "success", ("g.x-needs_", -1): "failed", ("g.x", -1): "failed"}
    skipped = {**gate, ("g.x", -1): "upstream_failed"}
    below = {"g.x": ["g.x-needs_"], "g.x-needs_": ["g.x-needs"]}
    assert ended_so(Instance(gate), "failure", "g", ["g.x"])
    assert not ended_so(Instance(skipped), "failure", "g", ["g.x"])
    failed = {("g.x-needs", -1): "failed", ("g.x-needs_", -1): "skipped", ("g.x", -1): "skipped"}
    assert run_failed(Instance(failed, below), ["g.x"])
    handled = {**failed, ("g.x-needs", -1): "success", ("g.x-needs_", -1): "failed"}
    assert not run_failed(Instance(handled, below), ["g.x"])


def test_a_gate_answers_for_what_it_asks_about() -> None:
    """It waits for more than that: for all that must have ended."""
    states = {("a", -1): "success", ("b", -1): "failed", ("x-needs_", -1): "skipped"}
    ti = Instance({**states, ("x", -1): "skipped"}, {"x": ["x-needs_"], "x-needs_": ["a"]})
    ti.tasks["x-needs_"].upstream_task_ids.append("b")
    assert not run_failed(ti, ["x"])
    assert run_failed(ti, ["x", "b"])


def test_a_run_that_failed_names_the_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "AirflowFailException", RefusedError, raising=False)
    states = {("a", -1): "failed", ("b", -1): "success", ("x-needs_", -1): "failed"}
    check_end(["b"], Instance(states))
    with pytest.raises(RefusedError, match=r"failed: a$"):
        check_end(["a", "b"], Instance(states))


@pytest.mark.parametrize(("rule", "is_failed"), [("all_done", False), ("none_failed", True)])
def test_what_is_waited_for_besides_is_not_looked_at(rule: str, is_failed: bool) -> None:
    """Below `b`, which ran after the failure of `a`: an edge to `a` may say when, and no more."""
    states = {("a", -1): "failed", ("b", -1): "success", ("x", -1): "skipped"}
    ti = Instance(states, {"x": ["b", "a"]})
    ti.tasks["x"].trigger_rule = rule
    ti.tasks["x"].upstream_task_ids = {"a", "b"}
    ti.tasks["x"].upstream_list = [ti.tasks["a"], ti.tasks["b"]]
    ti.tasks["a"].get_flat_relative_ids = lambda upstream: set[str]()
    ti.tasks["b"].get_flat_relative_ids = lambda upstream: {"a"}
    assert run_failed(ti, ["x"]) == is_failed


def test_the_maker_of_items_fails_with_its_step() -> None:
    states = {("a-items_", -1): "failed", ("a-items", -1): "failed", ("a", -1): "upstream_failed"}
    assert ended_so(Instance(states), "failure", "a", ["a"], "a-items_")
    states["a-items_", -1] = "upstream_failed"
    assert not ended_so(Instance(states), "failure", "a", ["a"], "a-items_")


def test_a_group_that_was_omitted_has_not_failed() -> None:
    """Its last task runs after any end, and fails so that what comes after it does not run."""
    states = {("g.when", -1): "upstream_failed", ("g.end", -1): "failed"}
    needs = ("g", ["g.end"], "g.when")
    assert not ended_so(Instance(states), "failure", *needs)
    assert not ended_so(Instance(states), "success", *needs)
    assert ended_so(Instance(states), "completion", *needs)
    assert run_failed(Instance(states), ["g.end"])
    assert ended_so(Instance({**states, ("g.when", -1): "success"}), "failure", *needs)
    assert ended_so(Instance({**states, ("g.when", -1): "failed"}), "failure", *needs)


@pytest.mark.parametrize(
    ("gate", "given"), [("upstream_failed", None), ("skipped", "[1]"), ("success", "[1]")]
)
def test_items_that_were_omitted_give_no_list(gate: str, given: str | None) -> None:
    states = {("e.when", -1): gate, ("e.item.end", 0): "failed", ("e.item.end", 1): "failed"}
    assert if_started(Instance(states), "e", "[1]") == given


def test_each_task_is_looked_at_once() -> None:
    """Each round waits for all before it: there are as many paths as sets of rounds."""
    names = [f"loop.round_{number}" for number in range(60)]
    above = {name: names[:number] for number, name in enumerate(names)}
    ti = Instance({(name, -1): "skipped" for name in names}, above)
    assert not run_failed(ti, names[-1:])
    assert ti.tasks.looked_at <= 2 * len(names)
