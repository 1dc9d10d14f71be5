"""The estimates of a plan go by the times that the pass `place` found on the machines it chose."""

from __future__ import annotations

import random

import pytest

from couler.cluster.model import Cluster, ClusterNode, Speed
from couler.ir.policies import Profile, Resources
from couler.ir.values import Literal
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Foreach,
    Group,
    Script,
    Step,
    Suspend,
    Workflow,
)
from couler.optimizers.base import PassContext
from couler.optimizers.estimate import Figure, Prices, critical_path
from couler.optimizers.log_text import known_text, pass_of_times, rows_of
from couler.optimizers.passes.group import Group as GroupSteps
from couler.optimizers.passes.place import Place
from couler.optimizers.passes.roll_loops import RollLoops
from couler.optimizers.passes.split import Split
from couler.optimizers.pipeline import Pipeline
from couler.optimizers.placement.planned_times import planned_times
from couler.optimizers.placement.registry import read_strategy
from couler.optimizers.placement.scaling import speeds_of
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.strategy import Rules
from couler.optimizers.placement.workload import workload_of
from couler.optimizers.step_times import StepTime, times_after

GIB = 2**30


def machine(name: str, cpu: float = 1) -> ClusterNode:
    return ClusterNode(name, cpu, 64 * GIB, name, labels={"couler.io/group": name})


PAIR = Cluster((machine("quick"), machine("slow")), speeds=(Speed(10.0, "quick"), Speed(1.0)))
WIDE = Cluster((machine("quick", 64),), speeds=(Speed(10.0),), pod_start_s=1.0)


def step(name: str, *after: str, operations: float | None = 100, **fields: object) -> Step:
    given = {
        "name": name,
        "action": Container(image="busybox"),
        "depends_on": after,
        "resources": Resources(cpu="1"),
        "profile": None if operations is None else Profile(operations=operations, model="m"),
        **fields,
    }
    return Step.model_validate(given)


def over(count: int, most: int | None = None) -> Foreach:
    return Foreach(over={"n": Literal(value=list(range(count)))}, max_parallel=most)


def flow(*steps: Step, **fields: object) -> Workflow:
    return Workflow.model_validate({"name": "w", "steps": steps, **fields})


def placed(workflow: Workflow, cluster: Cluster = WIDE) -> PassContext:
    context = PassContext(cluster=lambda: cluster)
    Place().run(workflow, context)
    return context


def test_the_critical_path_is_that_of_the_machines_that_were_chosen() -> None:
    workflow = flow(step("a"), step("b", "a", operations=None, profile=Profile(seconds=5)))
    _, log = Pipeline((Place(),)).run(workflow, cluster=lambda: WIDE)
    assert "All ends after 17 s by what is known of the steps" in log.records[0].reason
    row, whole = rows_of(workflow, log.records)
    for one in (row, whole):
        before, after = one.estimates
        assert before.seconds == Figure(5.0, 1, 2)
        assert after.seconds == Figure(17.0, 2, 2)  # 1 s for each pod
    assert pass_of_times(log.records) == "place"
    assert known_text(whole.estimates[1], None, seconds_by="place") == (
        "estimates: seconds are known of 2 of 2 steps on the machines that place chose, "
        "memory of 0; no prices are set"
    )


def test_without_the_pass_they_go_by_profiles() -> None:
    workflow = flow(step("a", operations=None, profile=Profile(seconds=5)))
    _, log = Pipeline((RollLoops(),)).run(workflow)
    assert pass_of_times(log.records) is None
    assert rows_of(workflow, log.records)[-1].estimates[1].seconds == Figure(5.0, 1, 1)


def test_times_that_are_guessed_are_not_known() -> None:
    workflow = flow(step("a"), step("b", "a", operations=None))
    context = placed(workflow)
    assert context.times == {"a": StepTime(11.0, 11.0)}
    assert critical_path(workflow, times=context.times) == Figure(11.0, 1, 2)


def test_a_foreach_ends_with_its_longest_item_and_costs_the_mean() -> None:
    fit = step("fit", foreach=over(2), resources=Resources(cpu="1", memory="1Gi"))
    alone = {"steps": (fit,), "name": "w"}
    workflow = Workflow.model_validate(alone)
    # 10 s or 100 s: both on the quick one in turn end sooner than one on either.
    context = placed(workflow, PAIR)
    assert context.times == {"fit": StepTime(10.0, 10.0)}
    many = flow(step("fit", foreach=over(22)))
    context = placed(many, PAIR)
    assert context.times == {
        "fit": StepTime(100.0, pytest.approx((20 * 10 + 2 * 100) / 22)),
    }
    prices = Prices(cpu_hour=36, memory_gib_hour=0, gpu_hour=0)
    _, log = Pipeline((Place(),)).run(many, cluster=lambda: PAIR)
    figures = rows_of(many, log.records, prices)[-1].estimates[1]
    assert figures.seconds == Figure(100.0, 1, 1)
    assert figures.cost.value == pytest.approx(0.01 * 400)


def test_items_in_turn_take_their_turns() -> None:
    workflow = flow(step("fit", foreach=over(5, 2)))
    context = placed(workflow)
    assert context.times == {"fit": StepTime(11.0, 11.0)}
    assert critical_path(workflow, times=context.times) == Figure(33.0, 1, 1)
    assert "All ends after 33 s" in context.reason


def test_exit_handlers_and_pauses_keep_their_seconds() -> None:
    handler = ExitHandler(
        name="end", on="any", steps=(step("tell", operations=None, profile=Profile(seconds=7)),)
    )
    pause = step("wait", "a", action=Suspend(seconds=60), operations=None, resources=None)
    workflow = flow(step("a"), pause, exit_handlers=(handler,))
    context = placed(workflow)
    assert context.times == {"a": StepTime(11.0, 11.0)}
    assert critical_path(workflow, times=context.times) == Figure(11 + 60 + 7, 3, 3)
    assert "All ends after 11 s by what is known of the steps" in context.reason
    assert "Pauses are left out of that." in context.reason
    assert "Pauses" not in placed(flow(step("a"))).reason


@pytest.mark.parametrize("seed", range(60))
def test_the_critical_path_is_never_longer_than_the_plan(seed: int) -> None:
    draw = random.Random(seed)

    def steps(depth: int) -> tuple[Step, ...]:
        made: list[Step] = []
        for number in range(draw.randint(1, 4)):
            after = [one.name for one in made if draw.random() < 0.4]
            inner = depth and draw.random() < 0.4
            fields: dict[str, object] = {"foreach": over(draw.randint(1, 6))}
            if draw.random() < 0.5:
                fields = {}
            if inner:
                fields |= {"action": Group(steps=steps(depth - 1)), "profile": None}
                fields |= {"resources": None}
            made.append(step(f"s{number}", *after, operations=draw.randint(1, 50), **fields))
        return tuple(made)

    workflow = flow(*steps(2))
    cluster = Cluster(
        tuple(machine(f"n{number}", draw.randint(1, 4)) for number in range(3)),
        speeds=tuple(Speed(draw.uniform(1, 4), f"n{number}") for number in range(3)),
    )
    workload = workload_of(workflow, cluster=cluster)
    scattered = read_strategy("fcfs-random{seed=1}")
    rules = Rules("tasks", "requests", 0.0, 0.0, 1.0)
    report = simulate([workload.pipeline], cluster, scattered, speeds_of(cluster, {}), rules)
    figure = critical_path(workflow, times=planned_times(workflow, workload, report))
    assert figure.is_whole
    assert figure.value is not None
    assert 0 < figure.value <= report.total_s + 1e-6


def test_parts_wait_by_the_same_times() -> None:
    long = (step(name, "a", operations=1000) for name in ("b", "c"))
    workflow = flow(step("a"), *long)
    pipeline = Pipeline((Place(), Split(group_steps=2)))
    _, log = pipeline.run(workflow, cluster=lambda: WIDE, parts_are_barriers=True)
    row = rows_of(workflow, log.records, parts_are_barriers=True)[1]
    told = [f"{one.seconds.value:,.1f} s" for one in row.estimates]
    assert "The critical path takes {} as written and {} in parts.".format(*told) in (
        log.records[1].reason
    )
    assert told == ["112.0 s", "112.0 s"]


def test_a_pass_that_comes_later_takes_the_times_along() -> None:
    calls = [
        step(f"say-{n}", action=Container(image="busybox", command=("echo",), args=(f"{n}",)))
        for n in range(3)
    ]
    times = {f"say-{n}": StepTime(10.0 * n, 5.0) for n in range(3)}
    workflow = flow(*calls, step("end", "say-0", "say-1", "say-2"))
    _, log = Pipeline((RollLoops(),)).run(workflow)
    known = times_after(log.records[0], {**times, "end": StepTime(1.0, 1.0)})
    assert known == {"say": StepTime(20.0, 5.0), "end": StepTime(1.0, 1.0)}


def test_what_a_pass_makes_of_several_steps_takes_what_its_profile_says() -> None:
    def script(name: str, *after: str) -> Step:
        action = Script(image="python:3.12", source="pass")
        return step(name, *after, action=action, operations=None, profile=Profile(seconds=3))

    workflow = flow(script("a"), script("b", "a"), step("c"))
    _, log = Pipeline((GroupSteps(),)).run(workflow)
    known = times_after(log.records[0], {name: StepTime(9.0, 9.0) for name in "abc"})
    assert known == {"c": StepTime(9.0, 9.0)}
