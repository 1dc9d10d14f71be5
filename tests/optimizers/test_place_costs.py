"""What machines cost by the pass `place`, and what it says of times that nobody knows."""

from __future__ import annotations

import pytest

from couler.cluster.model import Cluster, ClusterNode, Speed
from couler.ir.policies import Loop, Profile
from couler.ir.values import Compare, Literal, RoundRef, StepRef
from couler.ir.workflow import Container, ExitHandler, Foreach, Group, Output, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.estimate import Figure, Prices
from couler.optimizers.log_text import known_text, pass_of_costs, rows_of, table_text
from couler.optimizers.passes.place import Place
from couler.optimizers.pipeline import Pipeline
from couler.optimizers.placement.plan_figures import counted_in_part

NODE = ClusterNode("a", 8, 2**34, price_usd_per_h=3.6)
PRICED = Cluster((NODE,))
AGAIN = Loop(condition=Compare(left=RoundRef(output="result"), op="==", right=Literal(value="x")))


def step(name: str, *after: str, seconds: float | None = 100, **fields: object) -> Step:
    given = {
        "name": name,
        "action": Container(image="busybox"),
        "depends_on": after,
        "profile": None if seconds is None else Profile(seconds=seconds),
        **fields,
    }
    return Step.model_validate(given)


def over(source: str) -> Foreach:
    return Foreach(over={"x": StepRef(step=source, output="result")})


def placed(*steps: Step, cluster: Cluster = PRICED, **fields: object) -> PassContext:
    context = PassContext(cluster=lambda: cluster)
    Place().run(Workflow.model_validate({"name": "w", "steps": steps, **fields}), context)
    return context


def test_the_cost_is_that_of_machines_while_they_run_any_of_it() -> None:
    # 200 s at 3.60 USD an hour; b and c run side by side.
    assert placed(step("a"), step("b", "a"), step("c", "a")).cost == Figure(
        pytest.approx(0.2), 3, 3
    )


def test_it_is_not_known_where_nobody_knows_how_long_a_step_takes() -> None:
    context = placed(step("a"), step("b", "a", seconds=None), step("c", "b", seconds=None))
    assert context.cost == Figure(None, 1, 3)
    assert "Nothing tells how long b, c take, so 100 s is taken for each." in context.reason
    by_operations = step("b", profile=Profile(operations=2e9, model="tree"))
    context = placed(step("a"), by_operations)
    assert context.cost == Figure(None, 1, 2)
    assert (
        "Nothing tells how fast machines compute b, so 1e9 operations a second are taken."
        in context.reason
    )
    rated = Cluster((NODE,), speeds=(Speed(1e8),))
    context = placed(step("a"), by_operations, cluster=rated)
    assert context.cost == Figure(pytest.approx(0.1), 2, 2)
    assert "Nothing tells" not in context.reason


def test_there_is_none_without_the_prices_of_the_machines_that_are_used() -> None:
    small = ClusterNode("b", 1, 2**30)
    assert placed(step("a"), cluster=Cluster((small,))).cost is None
    assert placed(step("a"), cluster=Cluster((NODE, small))).cost == Figure(
        pytest.approx(0.1), 1, 1
    )


def test_it_is_a_lower_bound_where_more_may_run_than_is_counted() -> None:
    listed = step("a", outputs=(Output(name="result"),))
    handler = ExitHandler(name="end", on="any", steps=(step("tell"),))
    context = placed(
        listed,
        step("b", "a", foreach=over("a")),
        step("c", loop=AGAIN),
        exit_handlers=(handler,),
    )
    assert context.cost == Figure(pytest.approx(0.2), 1, 4)
    reasons = context.step_reasons
    assert reasons["b"].endswith(
        "How many items there are is not known before the run: one is counted."
    )
    assert reasons["c"].endswith("Of its rounds one is counted.")
    assert reasons["exit:end/tell"].endswith("Exit handlers are taken to need no time.")
    assert "counted" not in reasons["a"]


def test_what_is_inside_of_a_group_is_counted_as_often_as_that() -> None:
    inner = Group(steps=(step("x"), step("y", foreach=Foreach(over={"n": Literal(value=[1, 2])}))))
    workflow = Workflow(
        name="w",
        steps=(
            step("all", action=inner, seconds=None),
            step("some", "all", action=inner, seconds=None, foreach=over("all")),
        ),
    )
    assert list(counted_in_part(workflow)) == ["some/x", "some/y"]


def test_the_table_has_it_unless_prices_are_set() -> None:
    workflow = Workflow(name="w", steps=(step("a"), step("b", "a")))
    made, log = Pipeline((Place(),)).run(workflow, cluster=lambda: PRICED)
    for prices, cost, by in (
        (None, "unknown -> 0.2 USD", "place"),
        (Prices(), "unknown -> 0.2 USD", "place"),
        (Prices(cpu_hour=0, memory_gib_hour=0, gpu_hour=0), "0 USD", None),
    ):
        rows = rows_of(workflow, log.records, prices)
        assert [one.endswith(f" {cost}") for one in table_text(rows, "USD").splitlines()[1:]] == [
            True,
            True,
        ]
        assert pass_of_costs(log.records, prices) == by
        told = known_text(rows[-1].estimates[1], prices, costs_by=by)
        assert told.endswith(
            "; cost of 2 of 2: machines while they run any of it, by place"
            if by
            else "memory of 0, cost of 2"
        )
    assert made.steps[0].profile == Profile(seconds=100)
