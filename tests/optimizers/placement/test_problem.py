"""The order of an assignment, and speeds."""

from __future__ import annotations

import pytest

from couler.cluster.model import ClusterNode
from couler.errors import PlacementError
from couler.optimizers.placement.problem import (
    Assignment,
    Pipeline,
    Task,
)
from couler.optimizers.placement.speeds import Speeds, check_speeds

NODE = ClusterNode("n1", cpu=4, memory_bytes=1, group="medium")


def test_assignment_orders_pipelines_by_their_first_task() -> None:
    order = (("b", "x"), ("a", "x"), ("b", "y"))
    assert Assignment(dict.fromkeys(order, "n"), order).pipelines == ("b", "a")


@pytest.mark.parametrize(
    ("rates", "seconds"),
    [
        ({("RF", "n1"): 1.0, ("RF", "medium"): 2.0}, 20.0),
        ({("RF", "medium"): 2.0, ("RF", ""): 4.0, ("", "n1"): 5.0}, 10.0),
        ({("RF", ""): 4.0, ("", "n1"): 5.0}, 5.0),
        ({("", "n1"): 5.0, ("", "medium"): 10.0}, 4.0),
        ({("", "medium"): 10.0, ("", ""): 20.0}, 2.0),
        ({("", ""): 20.0}, 1.0),
    ],
)
def test_the_nearest_rate_counts(rates: dict[tuple[str, str], float], seconds: float) -> None:
    task = Task("train", model="RF", operations=20.0)
    assert Speeds(rates).seconds(task, NODE) == seconds
    assert Speeds(rates, start_s=3.0).seconds(task, NODE) == seconds + 3.0


def test_known_seconds_go_before_operations() -> None:
    task = Task("t", operations=9.0, seconds={"n1": 1.0, "medium": 2.0})
    other = Task("t", operations=9.0, seconds={"low": 1.0})
    speeds = Speeds({("", ""): 1.0}, start_s=0.5)
    assert speeds.seconds(task, NODE) == 1.5
    assert speeds.seconds(other, NODE) == 9.5
    assert speeds.seconds(Task("t"), NODE) == 0.5


def test_transfers() -> None:
    speeds = Speeds(bandwidth_bytes_per_s=50.0, latency_s=0.25)
    assert speeds.transfer_s(100) == 2.25
    assert speeds.transfer_s(0) == 0.0


def test_speeds_that_are_missing() -> None:
    pipeline = Pipeline("p", (Task("a", model="RF", operations=1), Task("b", operations=1)))
    speeds = Speeds({("RF", "low"): 1.0})
    with pytest.raises(PlacementError) as caught:
        check_speeds(speeds, [pipeline], [NODE])
    mend = "add a rate for it, or one for all models or all nodes under an empty name"
    assert caught.value.problems == (
        f'nothing says how fast model "RF" is in group "medium": {mend}',
        f'nothing says how fast tasks without a model, as "b" is in group "medium": {mend}',
    )
    with pytest.raises(PlacementError, match='how fast model "RF"'):
        speeds.seconds(pipeline.tasks[0], NODE)


def test_of_machines_that_cannot_run_a_task_no_speed_is_needed() -> None:
    small = ClusterNode("s1", cpu=1, memory_bytes=2**30, group="small")
    speeds = Speeds({("RF", "medium"): 1.0})
    wide, narrow = (Task(f"t{cpu}", model="RF", operations=1, cpu=cpu) for cpu in (2, 1))
    check_speeds(speeds, [Pipeline("p", (wide,))], [NODE, small])
    with pytest.raises(PlacementError, match='how fast model "RF" is in group "small"'):
        check_speeds(speeds, [Pipeline("p", (wide, narrow))], [NODE, small])
