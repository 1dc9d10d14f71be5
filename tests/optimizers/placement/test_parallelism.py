"""Which tasks wait for which: few links where many wait for many, and what limits say."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest

from couler.cluster.model import Cluster, ClusterNode
from couler.ir.policies import Profile, Resources
from couler.ir.values import Literal, StepRef
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Foreach,
    Group,
    Input,
    Output,
    Step,
    Suspend,
    Workflow,
)
from couler.optimizers.placement import flattening
from couler.optimizers.placement.problem import topological_order
from couler.optimizers.placement.report import PipelineTimes, Report, TaskSpan
from couler.optimizers.placement.workload import Workload, workload_of
from couler.optimizers.placement.writing import urgencies

LARGE = Cluster(tuple(ClusterNode(f"n{number}", 64, 2**38) for number in range(4)))


def joins_of(workload: Workload) -> set[str]:
    """Return the names of tasks that are no steps."""
    return {task.name for task in workload.pipeline.tasks} - set(workload.step_of)


def step(name: str, *after: str, **fields: object) -> Step:
    profile = Profile(seconds=1, output_bytes=10)
    known = {"name": name, "action": Container(image="busybox"), "depends_on": after}
    return Step.model_validate({**known, "profile": profile, **fields})


def group(name: str, *steps: Step, after: Iterable[str] = (), **fields: object) -> Step:
    return step(name, *after, action=Group(steps=steps), profile=None, **fields)


def plain(count: int) -> list[Step]:
    return [step(f"s{number}") for number in range(count)]


def over(items: int, most: int | None = None) -> Foreach:
    return Foreach(over={"item": Literal(value=tuple(range(items)))}, max_parallel=most)


def work(*steps: Step, cluster: Cluster = LARGE, **fields: object) -> Workload:
    workflow = Workflow.model_validate({"name": "w", "steps": steps, **fields})
    return workload_of(workflow, cluster=cluster)


def times(made: Workload) -> dict[str, tuple[float, float]]:
    """Return when each task starts and ends where there is room for all."""
    found: dict[str, tuple[float, float]] = {}
    befores: dict[str, list[str]] = {task.name: [] for task in made.pipeline.tasks}
    for edge in made.pipeline.edges:
        befores[edge.target].append(edge.source)
    for number in topological_order(made.pipeline):
        task = made.pipeline.tasks[number]
        start = max((found[name][1] for name in befores[task.name]), default=0.0)
        found[task.name] = start, start + task.seconds[""]
    return found


def makespan(made: Workload) -> float:
    return max((end for _, end in times(made).values()), default=0.0)


def waits(made: Workload) -> dict[str, set[str]]:
    """Return for each task that is no join all those for which it waits."""
    befores: dict[str, set[str]] = {task.name: set() for task in made.pipeline.tasks}
    for edge in made.pipeline.edges:
        befores[edge.target].add(edge.source)
    found: dict[str, set[str]] = {}
    for number in topological_order(made.pipeline):
        name = made.pipeline.tasks[number].name
        found[name] = befores[name].union(*(found[one] for one in befores[name]))
    return {
        name: some - joins_of(made) for name, some in found.items() if name not in joins_of(made)
    }


class TestJoins:
    def test_a_pause_between_many_and_many(self) -> None:
        befores = [step(f"a{number}") for number in range(50)]
        pause = step("wait", *(one.name for one in befores), action=Suspend(seconds=1))
        made = work(*befores, pause, *(step(f"b{number}", "wait") for number in range(50)))
        assert joins_of(made) == {"wait (pause)"}
        assert len(made.pipeline.edges) == 100

    def test_what_is_read_goes_through_the_join(self) -> None:
        fit = step("fit", foreach=over(40), outputs=(Output(),))
        after = work(fit, step("log", "fit", foreach=over(40)))
        assert {edge.size_bytes for edge in after.pipeline.edges} == {0}
        scores = Input(name="scores", value=StepRef(step="fit"), many=True)
        reads = work(fit, step("pick", foreach=over(40), inputs=(scores,)))
        into = {one.size_bytes for one in reads.pipeline.edges if one.target in joins_of(reads)}
        out = {one.size_bytes for one in reads.pipeline.edges if one.source in joins_of(reads)}
        assert (into, out) == ({10}, {400})

    @pytest.mark.parametrize("seed", range(60))
    def test_with_joins_all_wait_for_the_same(
        self, seed: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        steps = _drawn(random.Random(seed), 3)
        monkeypatch.setattr(flattening, "_FEW", 10**9)
        directly = work(*steps)
        monkeypatch.setattr(flattening, "_FEW", 0)
        assert not joins_of(directly)
        assert waits(work(*steps)) == waits(directly)


def _drawn(chance: random.Random, depth: int) -> tuple[Step, ...]:
    found: list[Step] = []
    for number in range(chance.randint(1, 5)):
        after = [one.name for one in found if chance.random() < 0.5]
        kind = chance.random()
        foreach = over(chance.choice([1, 2, 6])) if chance.random() < 0.4 else None
        if kind < 0.15:
            found.append(step(f"p{number}", *after, action=Suspend(seconds=1)))
        elif kind < 0.6 and depth:
            inner = _drawn(chance, depth - 1)
            found.append(group(f"g{number}", *inner, after=after, foreach=foreach))
        else:
            found.append(step(f"s{number}", *after, foreach=foreach))
    return tuple(chance.sample(found, len(found)))


class TestLimits:
    def test_many_items_at_once(self) -> None:
        small = Cluster((ClusterNode("a", 4, 2**34),))
        made = work(step("a", foreach=over(1_000, 10)), cluster=small)
        assert len(made.step_of) == 60
        assert makespan(made) == pytest.approx(100)

    def test_handlers_are_not_counted(self) -> None:
        handler = ExitHandler(name="clean", on="any", steps=tuple(plain(5)))
        assert makespan(work(*plain(4), max_parallel=2, exit_handlers=(handler,))) == 2

    def test_a_group_with_a_mutex_goes_item_by_item(self) -> None:
        inner = (step("x"), step("y", "x"))
        assert makespan(work(group("each", *inner, foreach=over(5), mutex="m"))) == 10

    @pytest.mark.parametrize("seed", range(40))
    def test_limits_make_no_circle_and_hold(self, seed: int) -> None:
        chance = random.Random(seed)
        width = chance.randint(1, 4)
        steps = _drawn(chance, 2)
        made = work(*_limited(steps, chance), max_parallel=width)
        assert makespan(made) >= makespan(work(*steps))
        spans = [span for name, span in times(made).items() if name in made.step_of]
        for start, _ in spans:
            assert sum(one <= start < other for one, other in spans) <= width
        for name, before in waits(work(*steps)).items():
            assert waits(made)[name] >= before


def _limited(steps: Iterable[Step], chance: random.Random) -> list[Step]:
    found = []
    for one in steps:
        changes: dict[str, object] = {}
        if isinstance(one.action, Group):
            inner = tuple(_limited(one.action.steps, chance))
            changes = {"action": Group(steps=inner), "max_parallel": chance.choice([None, 1, 2])}
        elif not isinstance(one.action, Suspend):
            changes = {"mutex": chance.choice([None, None, "m"])}
        if one.foreach is not None:
            limits = {"max_parallel": chance.choice([None, 1, 3])}
            changes["foreach"] = one.foreach.model_copy(update=limits)
        found.append(one.model_copy(update=changes))
    return found


class TestRoom:
    def test_tasks_are_as_many_as_have_room(self) -> None:
        steps = (
            step("a", foreach=over(1_000)),
            step("b", foreach=over(1_000), resources=Resources(cpu="2")),
        )
        made = work(*steps)
        counts = {path: list(made.step_of.values()).count(path) for path in ("a", "b")}
        assert counts == {"a": 256, "b": 128}

    def test_items_that_are_cut_differently_are_read_in_order(self) -> None:
        fit = step("fit", foreach=over(512), outputs=(Output(),))
        score = step(
            "score",
            foreach=Foreach(over={"model": StepRef(step="fit")}),
            resources=Resources(cpu="2"),
        )
        made = work(fit, score)
        assert waits(made)["score[5]"] == {"fit[10]", "fit[11]"}

    def test_no_more_than_512(self) -> None:
        huge = Cluster(tuple(ClusterNode(f"n{number}", 128, 2**38) for number in range(20)))
        made = work(step("a", foreach=over(2_000)), cluster=huge)
        assert len(made.step_of) == 512


def test_joins_have_no_urgency_but_hand_it_on() -> None:
    made = work(group("a", *plain(20)), group("b", *plain(20), after="a"))
    starts = {"a": 0.0, "a (end)": 1.0, "b": 1.0}
    spans = []
    for number in topological_order(made.pipeline):
        task = made.pipeline.tasks[number]
        start = starts[task.name.partition("/")[0]]
        spans.append(TaskSpan("w", task.name, "n0", start, start + task.seconds[""]))
    report = Report((PipelineTimes("w", 0.0, 0.0, 2.0, 0.0),), tuple(spans))
    found = urgencies(made, report)
    assert set(found) == set(made.steps)
    assert (found["a/s3"].tail_s, found["a/s3"].is_critical) == (2.0, True)
