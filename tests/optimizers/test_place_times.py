"""The estimates of a plan go by the times that the pass `place` found on the machines it chose."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.cluster.model import Cluster, ClusterNode, Speed
from couler.ir.base import freeze_json
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Cache, Profile, Resources
from couler.ir.values import Literal
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Foreach,
    Group,
    Job,
    Script,
    Step,
    Suspend,
    Workflow,
)
from couler.optimizers.base import PassContext
from couler.optimizers.estimate import Figure, Prices, StepTime, critical_path
from couler.optimizers.log_text import known_text, pass_of_times, rows_of
from couler.optimizers.passes.group import Group as GroupSteps
from couler.optimizers.passes.merge_common_steps import MergeCommonSteps
from couler.optimizers.passes.place import Place
from couler.optimizers.passes.roll_loops import RollLoops
from couler.optimizers.passes.split import Split
from couler.optimizers.pipeline import Pipeline
from couler.optimizers.placement.learning import speeds_of
from couler.optimizers.placement.plan_figures import planned_times
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.strategy import Rules, read_strategy
from couler.optimizers.placement.workload import workload_of
from couler.stages.checks import unsupported

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
    assert known_text(whole.estimates[1], None, seconds_by="place", timed=2) == (
        "estimates: seconds are known of 2 of 2 steps on the machines that place chose, "
        "memory of 0; no prices are set"
    )


def test_without_the_pass_they_go_by_profiles() -> None:
    workflow = flow(step("a", operations=None, profile=Profile(seconds=5)))
    _, log = Pipeline((RollLoops(),)).run(workflow)
    assert pass_of_times(log.records) is None
    assert rows_of(workflow, log.records)[-1].estimates[1].seconds == Figure(5.0, 1, 1)


def test_a_foreach_ends_with_its_longest_item_and_costs_the_mean() -> None:
    fit = step("fit", foreach=over(2), resources=Resources(cpu="1", memory="1Gi"))
    alone = {"steps": (fit,), "name": "w"}
    workflow = Workflow.model_validate(alone)
    # 10 s or 100 s: both on the quick one in turn end sooner than one on either.
    context = placed(workflow, PAIR)
    assert context.times == {"fit": StepTime(10.0, 10.0)}
    many = flow(step("fit", foreach=over(11)))
    context = placed(many, PAIR)
    assert context.times == {
        "fit": StepTime(100.0, pytest.approx((10 * 10 + 100) / 11)),
    }
    prices = Prices(cpu_hour=36, memory_gib_hour=0, gpu_hour=0)
    _, log = Pipeline((Place(),)).run(many, cluster=lambda: PAIR)
    figures = rows_of(many, log.records, prices)[-1].estimates[1]
    assert figures.seconds == Figure(100.0, 1, 1)
    assert figures.cost.value == pytest.approx(0.01 * 200)


def test_items_in_turn_take_their_turns() -> None:
    workflow = flow(step("fit", foreach=over(5, 2)))
    context = placed(workflow)
    assert context.times == {"fit": StepTime(11.0, 11.0, 1.0)}
    assert critical_path(workflow, times=context.times) == Figure(33.0, 1, 1)
    assert "All ends after 33 s" in context.reason


def test_exit_handlers_and_pauses_keep_their_seconds() -> None:
    handler = ExitHandler(
        name="end", on="any", steps=(step("tell", operations=None, profile=Profile(seconds=7)),)
    )
    pause = step("wait", "a", action=Suspend(seconds=60), operations=None, resources=None)
    workflow = flow(step("a"), pause, exit_handlers=(handler,))
    context = placed(workflow)
    assert context.times == {"a": StepTime(11.0, 11.0, 1.0)}
    assert critical_path(workflow, times=context.times) == Figure(11 + 60 + 7, 3, 3)
    assert "All ends after 11 s by what is known of the steps" in context.reason
    assert "Pauses are left out of these times." in context.reason
    assert "Pauses" not in placed(flow(step("a"))).reason


@pytest.mark.parametrize("seed", range(20))
def test_the_critical_path_is_never_longer_than_the_plan(seed: int) -> None:
    draw = random.Random(seed)

    def steps(depth: int) -> tuple[Step, ...]:
        made: list[Step] = []
        for number in range(draw.randint(1, 4)):
            after = [one.name for one in made if draw.random() < 0.4]
            inner = depth and draw.random() < 0.4
            limit = draw.choice((None, 1, 2, 3))
            fields: dict[str, object] = {"foreach": over(draw.randint(1, 6), limit)}
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
    scattered = read_strategy("kubernetes{memory_margin=1.0, seed=1}")
    rules = Rules("tasks", "requests", 0.0, 0.0, 1.0)
    report = simulate([workload.pipeline], cluster, scattered, speeds_of(cluster, {}), rules)
    figure = critical_path(workflow, times=planned_times(workload, report))
    assert figure.is_whole
    assert figure.value is not None
    assert 0 < figure.value <= report.total_s + 1e-6


TWO = Cluster((machine("quick"), machine("slow")), speeds=(Speed(1.5, "quick"), Speed(1.0)))


def test_each_item_of_a_job_has_pods_of_its_own() -> None:
    spec = {"template": {"spec": {"containers": [{"resources": {"requests": {"cpu": "1"}}}]}}}
    manifest = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": 1, **spec}}},
    }
    fit = step("fit", action=Job(manifest=freeze_json(manifest)), foreach=over(11), resources=None)
    workflow = flow(fit)
    context = placed(workflow, PAIR)
    assert context.times == placed(flow(step("fit", foreach=over(11))), PAIR).times


def test_what_goes_by_profiles_is_not_said_to_go_by_machines() -> None:
    handler = ExitHandler(
        name="end", on="any", steps=(step("tell", operations=None, profile=Profile(seconds=7)),)
    )
    unknown = flow(step("a", operations=None), exit_handlers=(handler,))
    _, log = Pipeline((Place(),)).run(unknown, cluster=lambda: WIDE)
    assert pass_of_times(log.records) is None
    both = flow(step("a"), exit_handlers=(handler,))
    _, log = Pipeline((Place(),)).run(both, cluster=lambda: WIDE)
    figures = rows_of(both, log.records)[-1].estimates[1]
    told = known_text(figures, None, seconds_by="place", timed=len(log.records[0].known_times))
    assert "seconds are known of 2 of 2 steps (1 on the machines that place chose), mem" in told


CROSSED = flow(
    step("a", operations=10),
    step("b", "a", operations=1000),
    step("c", operations=1000),
    step("d", "a", "b", "c", operations=10),
    step("e", operations=1000),
)


def test_parts_wait_by_the_same_times() -> None:
    pipeline = Pipeline((Place(), Split(group_steps=2, method="order")))
    _, log = pipeline.run(CROSSED, cluster=lambda: WIDE)
    row = rows_of(CROSSED, log.records, parts_are_barriers=True)[1]
    told = [f"{one.seconds.value:,.1f} s" for one in row.estimates]
    assert told == ["105.0 s", "206.0 s"]


def test_parts_within_a_group_are_chosen_by_them_too() -> None:
    workflow = flow(Step(name="g", action=Group(steps=CROSSED.steps)))
    pipeline = Pipeline((Place(), Split(group_steps=2)))
    made, _ = pipeline.run(workflow, cluster=lambda: WIDE)
    alone, _ = pipeline.run(CROSSED, cluster=lambda: WIDE)
    action = made.steps[0].action
    assert isinstance(action, Group)
    assert [one.part for one in action.steps] == [one.part for one in alone.steps]


def test_a_pass_that_comes_later_takes_the_times_along() -> None:
    calls = [
        step(f"say-{n}", action=Container(image="busybox", command=("echo",), args=(f"{n}",)))
        for n in range(3)
    ]
    workflow = flow(*calls, step("end", "say-0", "say-1", "say-2", operations=30))
    _, log = Pipeline((Place(), RollLoops())).run(workflow, cluster=lambda: PAIR)
    before, after = (record.known_times for record in log.records)
    says = [before[f"say-{n}"] for n in range(3)]
    assert after == {
        "say": StepTime(max(says).path_s, pytest.approx(sum(one.mean_s for one in says) / 3)),
        "end": before["end"],
    }


def test_what_stays_in_place_of_others_keeps_its_time() -> None:
    alike = [step(name, cache=Cache()) for name in ("one", "two")]
    workflow = flow(*alike, step("end", "one", "two", operations=30))
    _, log = Pipeline((Place(), MergeCommonSteps())).run(workflow, cluster=lambda: PAIR)
    before, after = (record.known_times for record in log.records)
    assert log.records[1].after != log.records[1].before
    assert after == {name: before[name] for name in ("one", "end")}


def script(name: str, *after: str, **fields: object) -> Step:
    return step(name, *after, action=Script(image="python:3.12", source="pass"), **fields)


def of_argo(workflow: Workflow) -> Sequence[Diagnostic]:
    """Return what Argo refuses: it has no priority by which steps of a pod would differ."""
    return unsupported(workflow, ArgoBackend(), Target())


def test_steps_in_one_pod_take_what_they_took_on_the_machines_with_one_start() -> None:
    given = Profile(seconds=3, operations=1000, model="m")
    chain = [script(name, *after, profile=given) for name, after in (("a", ()), ("b", ("a",)))]
    workflow = flow(*chain, step("c", profile=Profile(operations=30, model="n")))
    pipeline = Pipeline((Place(), GroupSteps()))
    _, log = pipeline.run(workflow, cluster=lambda: WIDE, refusals=of_argo)
    [made] = [one for one in log.records[1].after.steps if one.name != "c"]
    assert made.profile is not None
    assert made.profile.seconds == 6  # it is compiled, and is what its steps say
    before, after = (record.known_times for record in log.records)
    assert after == {made.name: StepTime(201.0, 201.0, 1.0), "c": before["c"]}
    assert "The critical path is 201.0 s, and was 202.0 s." in log.records[1].reason
    assert pass_of_times(log.records) == "place"


def test_times_of_a_pod_of_which_some_are_known_are_those_of_these() -> None:
    workflow = flow(script("a", operations=None), script("b", "a", operations=None))
    context = PassContext(known_times={"a": StepTime(11.0, 11.0, 1.0)})
    [made] = GroupSteps().run(workflow, context).steps
    assert context.made_times == {made.name: StepTime(11.0, 11.0, 1.0)}
