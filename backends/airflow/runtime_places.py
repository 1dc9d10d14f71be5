"""Functions that DAG files carry to find tasks near to one another: of an item, of a round."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from couler.ir.ranges import whole_numbers
from couler.ir.semantics.wire import dump_json

if TYPE_CHECKING:
    from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

MODULES: dict[str, tuple[str, ...]] = {
    "airflow.sdk.exceptions": ("AirflowFailException", "AirflowSkipException"),
    "collections.abc": ("Callable",),
    "itertools": (),
    "typing": ("Any",),
}
"""Where the names come from that the functions use."""


def own_number(ti: Any, place: str) -> int:
    """Return the number that a task has in the last part of a place."""
    part = ti.task_id.split(".")[place.count(".")]
    return int(part.rpartition("_")[2])


def near(ti: Any, place: str) -> str:
    """Return the id of a task: # is the number that this task has there, #-1 the one before."""
    found = place.split(".")
    for at, part in enumerate(found):
        name, mark, before = part.partition("#")
        if mark:
            number = own_number(ti, ".".join(found[: at + 1])) + int(before or 0)
            found[at] = f"{name}{number}"
    return ".".join(found)


def pull(ti: Any, place: str, key: str = "return_value") -> Any:
    """Return what a task has handed on, of its items that of this task; * is the last round."""
    task = near(ti, place)
    group = ti.task.get_closest_mapped_task_group()
    index = ti.map_index if group is not None and task.startswith(f"{group.group_id}.") else None
    if "*" not in task:
        return ti.xcom_pull(task_ids=task, key=key, map_indexes=index)
    last = None
    for number in itertools.count():
        found = ti.xcom_pull(task_ids=task.replace("*", str(number)), map_indexes=index)
        if found is None:
            return last
        last = found
    return last


def output_near(ti: Any, place: str, name: str = "result") -> str | None:
    """Return an output of a task near this one; None if it did not run, or not well."""
    outputs = pull(ti, place)
    return None if outputs is None else outputs.get(name)


def states_near(ti: Any) -> dict[str, set[Any]]:
    """Return the states of each task; in the items of a group around this task, of its own item."""
    tasks, found = ti.task.dag.task_dict, dict[str, set[Any]]()
    group, alike = ti.task.get_closest_mapped_task_group(), namesakes(tasks)
    for only in (None, *alike):
        asked = None if only is None else [only]
        states = ti.get_task_states(dag_id=ti.dag_id, run_ids=[ti.run_id], task_ids=asked)
        for key, state in states.get(ti.run_id, {}).items():
            name = only or (key if key in tasks else key.rpartition("_")[0])
            is_beside = group is None or not name.startswith(f"{group.group_id}.")
            if (only or name not in alike) and (is_beside or key == f"{name}_{ti.map_index}"):
                found.setdefault(name, set()).add(state)
    return found


def namesakes(tasks: dict[str, Any]) -> set[str]:
    """Return the tasks whose names are those of items of another in the states of Airflow."""
    found = set()
    for name in tasks:
        head, _, number = name.rpartition("_")
        task = tasks.get(head) if number.isdigit() else None
        if task and (task.is_mapped or task.get_closest_mapped_task_group()):
            found |= {head, name}
    return found


def are_open(ti: Any, *gates: str) -> bool:
    """Return whether no gate was skipped."""
    states = states_near(ti)
    return not any("skipped" in states.get(near(ti, gate), ()) for gate in gates)


def run_within(
    *gates: str, condition: Callable[[Any, Any], bool] | None = None
) -> Callable[[Any], None]:
    """Return what skips a task, before it starts, as a gate was skipped or by its condition."""

    def pre_execute(context: Any) -> None:
        ti = context["ti"]
        if not are_open(ti, *gates):
            raise AirflowSkipException(f"skipped as one of {', '.join(gates)}")
        if condition is not None and not condition(ti, context["params"]):
            raise AirflowSkipException(f"{condition.__name__} is false")

    return pre_execute


def reached_bound(rounds: int) -> None:
    """Fail a loop."""
    raise AirflowFailException(
        f"its condition still holds after {rounds} rounds, the most that max_iterations allows"
    )


def numbers(start: str, count: str | None = None, end: str | None = None, form: str = "") -> str:
    """Return whole numbers in a row as a JSON list: so many, or up to an end."""
    found = whole_numbers(start, count, end)
    if len(found) > 1000:
        raise AirflowFailException(f"a range has {len(found)} numbers; at most 1000")
    return dump_json([form.format(one) if form else one for one in found])
