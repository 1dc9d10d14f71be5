"""Seconds, memory and cost of a run: cases worked by hand, and what is not known."""

from __future__ import annotations

import random
import typing as t

import pytest
from hypothesis import given, settings, strategies as st

from couler.ir.policies import Foreach, Gpu, Loop, Part, Profile, Resources
from couler.ir.values import Compare, Literal, RoundRef, StepRef
from couler.ir.workflow import Container, ExitHandler, Group, Step, Suspend, Workflow
from couler.optimizers.estimate import Estimate, Figure, Prices, critical_path, estimate
from couler.optimizers.partitioning.measure import makespan
from couler.optimizers.partitioning.methods import partition
from couler.optimizers.step_graph import ScopeGraph, step_graph

RUN = Container(image="busybox", command=("true",))
UNKNOWN = Figure(None, 0, 1)


def step(
    name: str,
    seconds: float | None = None,
    memory: int | None = None,
    *after: str,
    **fields: t.Any,
) -> Step:
    profile = Profile(seconds=seconds, memory_bytes=memory)
    return Step(**{"name": name, "action": RUN, "profile": profile, "depends_on": after, **fields})


def of(*steps: Step, prices: Prices | None = None, **fields: t.Any) -> Estimate:
    return estimate(Workflow(name="w", steps=steps, **fields), prices)


def items(count: int, most: int | None = None) -> Foreach:
    return Foreach(over={"item": Literal(value=tuple(range(count)))}, max_parallel=most)


AGAIN = Loop(condition=Compare(left=RoundRef(output="result"), op="==", right=Literal(value="x")))


class TestUnknown:
    def test_nothing_is_known(self) -> None:
        assert of(Step(name="a", action=RUN)) == Estimate(UNKNOWN, UNKNOWN, UNKNOWN)

    def test_part_is_a_lower_bound(self) -> None:
        found = of(step("a", 2), step("b", None, None, "a"), step("c", 3, 7, "b"))
        assert found.seconds == Figure(5.0, 2, 3)
        assert found.memory_bytes == Figure(7.0, 1, 3)
        assert not found.seconds.is_whole

    def test_steps_of_unknown_length_last_as_long_as_the_others_in_the_mean(self) -> None:
        # The mean of 2 and 4 is 3: b holds its 10 bytes from 2 to 5, c its 10 from 0 to 4.
        overlapping = of(step("a", 2, 1), step("b", None, 10, "a"), step("c", 4, 10))
        assert overlapping.memory_bytes.value == 20
        # Nothing is known: all last alike, so that a chain holds one at a time.
        chain = of(step("a", None, 10), step("b", None, 10, "a"), step("c", None, 10, "b"))
        assert chain.memory_bytes == Figure(10.0, 3, 3)


def test_loop_counts_as_one_round_that_is_not_all() -> None:
    assert of(step("a", 4, 10, loop=AGAIN)).seconds == Figure(4.0, 0, 1)
    assert of(step("a", 4, 10, loop=AGAIN)).memory_bytes == Figure(10.0, 1, 1)
    body = Group(steps=(step("x", 1), step("y", 2, None, "x")))
    assert of(step("g", action=body, loop=AGAIN, profile=None)).seconds == Figure(3.0, 0, 2)


def test_pause_takes_time_and_nothing_else() -> None:
    prices = Prices(cpu_hour=1.0, memory_gib_hour=1.0)
    found = of(Step(name="a", action=Suspend(seconds=30)), prices=prices)
    assert found == Estimate(Figure(30.0, 1, 1), Figure(0.0, 1, 1), Figure(0.0, 1, 1))
    person = of(Step(name="a", action=Suspend()), prices=prices)
    assert person.seconds == UNKNOWN
    assert person.cost == Figure(0.0, 1, 1)


class TestResources:
    def test_cost(self) -> None:
        # 1800 s of 2 processors at 0.04, 4 GiB at 0.01 and 1 GPU at 2: (0.08 + 0.04 + 2) / 2.
        asked = Resources(cpu="2", memory="4Gi", gpu=Gpu(count=1))
        prices = Prices(cpu_hour=0.04, memory_gib_hour=0.01, gpu_hour=2.0)
        found = of(step("a", 1800, resources=asked), prices=prices).cost
        assert found.value == pytest.approx(1.06)
        assert found.is_whole
        three = of(step("a", 1800, resources=asked, foreach=items(3, 1)), prices=prices)
        assert three.cost.value == pytest.approx(3.18)

    @pytest.mark.parametrize(
        ("asked", "prices", "cost"),
        [
            (Resources(cpu="1"), None, None),
            (Resources(cpu="1"), Prices(), None),
            (Resources(cpu="1"), Prices(cpu_hour=1.0), 1.0),
            (Resources(cpu="500m"), Prices(cpu_hour=1.0), 0.5),
            (Resources(cpu="1"), Prices(cpu_hour=1.0, memory_gib_hour=0.0), 1.0),
            (Resources(cpu="1"), Prices(cpu_hour=1.0, memory_gib_hour=1.0), None),
            (Resources(cpu="1", gpu=Gpu(count=1)), Prices(cpu_hour=1.0), None),
            (Resources(cpu="1"), Prices(cpu_hour=1.0, gpu_hour=9.0), 1.0),
            (None, Prices(cpu_hour=1.0), None),
        ],
    )
    def test_price_or_amount_that_is_not_known(
        self, asked: Resources | None, prices: Prices | None, cost: float | None
    ) -> None:
        assert of(step("a", 3600, resources=asked), prices=prices).cost.value == cost


class TestParts:
    """What waits for a whole part where the engine starts parts as a whole."""

    @staticmethod
    def seconds(*steps: Step, **fields: t.Any) -> tuple[float | None, float | None]:
        """Return the critical path without and with parts as barriers."""
        workflow = Workflow(name="w", steps=steps, **fields)
        found = [estimate(workflow, parts_are_barriers=barriers) for barriers in (False, True)]
        assert [critical_path(workflow, parts_are_barriers=one) for one in (False, True)] == [
            one.seconds for one in found
        ]
        return found[0].seconds.value, found[1].seconds.value

    def test_part_starts_when_all_that_it_waits_for_has_ended(self) -> None:
        one, two = {"part": Part(group="1")}, {"part": Part(group="2")}
        # c needs a alone, which ends at 2; the part of a ends with b at 7.
        steps = (step("a", 2, **one), step("b", 7, **one), step("c", 4, None, "a", **two))
        assert self.seconds(*steps) == (7, 11)
        # What is in no part waits for the part, and no part waits for what it does not need.
        loose = step("d", 1, None, "a")
        assert self.seconds(*steps, loose, step("e", 9, **two)) == (9, 16)

    def test_groups_wait_inside_of_their_run(self) -> None:
        def at(run: str, group: str | None) -> dict[str, Part]:
            return {"part": Part(run=run, group=group)}

        # In r1 the group 2 waits for 1 until 5, and r1 ends at 8; r2 waits for r1, so 8 + 1.
        steps = (
            step("a", 5, **at("r1", "1")),
            step("b", 1, **at("r1", "1")),
            step("c", 3, None, "b", **at("r1", "2")),
            step("d", 1, None, "b", **at("r2", None)),
        )
        assert self.seconds(*steps) == (5, 9)

    def test_parts_in_a_group_and_an_exit_handler(self) -> None:
        one, two = {"part": Part(group="1")}, {"part": Part(group="2")}
        inner = (step("a", 2, **one), step("b", 7, **one), step("c", 4, None, "a", **two))
        group = step("g", action=Group(steps=inner), profile=None, foreach=items(4, 2))
        assert self.seconds(group) == (14, 22)  # two turns
        handler = ExitHandler(name="end", on="any", steps=inner)
        assert self.seconds(step("x", 1), exit_handlers=(handler,)) == (8, 12)

    def test_steps_that_start_later_hold_memory_beside_others_and_cost_the_same(self) -> None:
        asked = {"resources": Resources(cpu="1"), "part": Part(group="1")}
        later = {"resources": Resources(cpu="1"), "part": Part(group="2")}
        # As written c holds its 50 bytes from 2 to 6 and d 60 from 8 to 10; in parts c from 8.
        steps = (
            step("a", 2, 1, **asked),
            step("b", 8, 1, **asked),
            step("c", 4, 50, "a", **later),
            step("d", 2, 60, "b", **later),
        )
        workflow = Workflow(name="w", steps=steps)
        prices = Prices(cpu_hour=3600.0, memory_gib_hour=0.0)
        apart, together = (
            estimate(workflow, prices, parts_are_barriers=barriers) for barriers in (False, True)
        )
        assert (apart.memory_bytes.value, together.memory_bytes.value) == (60, 110)
        assert apart.cost == together.cost == Figure(16.0, 4, 4)


@pytest.mark.parametrize("seed", range(5))
def test_estimate_of_parts_is_the_makespan_of_their_partition(seed: int) -> None:
    draw = random.Random(seed)
    before = [sorted(draw.sample(range(one), min(one, draw.randint(0, 3)))) for one in range(60)]
    steps = [
        step(f"s{number}", draw.randint(1, 9), None, *(f"s{one}" for one in befores))
        for number, befores in enumerate(before)
    ]
    graph = step_graph(steps, {"steps": [1] * len(steps)})
    found = partition(graph, {"steps": 11})
    assert found.count > 5
    labelled = tuple(
        one.model_copy(update={"part": Part(group=f"g{part}")})
        for one, part in zip(steps, found.part_of, strict=True)
    )
    seconds = estimate(Workflow(name="w", steps=labelled), parts_are_barriers=True).seconds
    assert seconds.value == pytest.approx(makespan(graph, found))


def test_graph_of_steps_has_the_seconds_of_the_estimates() -> None:
    body = Group(steps=(step("x", 3), step("y", 6, None, "x"), step("z")))
    steps = (
        step("a", 4, foreach=items(6, 2)),
        step("g", action=body, profile=None),
        Step(name="p", action=Suspend(seconds=7)),
        step("u"),
    )
    # The mean of 4, 3, 6 and 7 s stands for z and u; 3 turns of 4 s; x, then y.
    assert step_graph(steps, {}).seconds == (12, 9, 7, 5)
    assert step_graph(steps[3:], {}).seconds == (1,)


@settings(max_examples=15)
@given(st.data())
def test_graph_of_some_steps_is_that_of_the_scope_cut_out(data: st.DataObject) -> None:
    steps = [
        one.model_copy(update={"daemon": data.draw(st.booleans())}) for one in data.draw(dags())
    ]
    reader = Container(image="busybox", args=tuple(StepRef(step=one.name) for one in steps[:2]))
    steps.append(step("reader", 1, None, *(one.name for one in steps[1:3]), action=reader))
    chosen = [one for one in steps if data.draw(st.booleans())]
    costs = {"steps": [1] * len(chosen)}
    found = ScopeGraph(steps).of([one.name for one in chosen], costs)
    assert found == step_graph(chosen, costs)


@st.composite
def dags(draw: st.DrawFn) -> list[Step]:
    steps: list[Step] = []
    for number in range(draw(st.integers(1, 12))):
        before = draw(st.sets(st.integers(0, number - 1), max_size=3)) if number else set()
        seconds, memory = draw(st.integers(0, 9)), draw(st.integers(0, 9))
        steps.append(step(f"s{number}", seconds, memory, *(f"s{one}" for one in sorted(before))))
    return steps


@given(dags())
def test_figures_by_the_definition(steps: list[Step]) -> None:
    ends: dict[str, float] = {}
    starts: dict[str, float] = {}
    for one in steps:
        assert one.profile is not None
        starts[one.name] = max((ends[str(before)] for before in one.depends_on), default=0.0)
        ends[one.name] = starts[one.name] + (one.profile.seconds or 0.0)

    def held(moment: float) -> int:
        return sum(
            (one.profile.memory_bytes or 0) if one.profile is not None else 0
            for one in steps
            if starts[one.name] <= moment < ends[one.name]
        )

    momentary = [
        one.profile.memory_bytes or 0
        for one in steps
        if one.profile is not None and starts[one.name] == ends[one.name]
    ]
    found = of(*steps)
    assert found.seconds.value == max(ends.values())
    assert found.memory_bytes.value == max([*map(held, starts.values()), *momentary])
