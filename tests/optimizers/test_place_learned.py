"""The pass `place` where earlier runs tell how fast machines are."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed
from couler.errors import PlacementError
from couler.ir.policies import Profile, Resources
from couler.ir.workflow import Container, Step, Workflow
from couler.optimizers.base import PassContext, Timed
from couler.optimizers.passes.place import Place
from couler.optimizers.pipeline import Pipeline

GIB = 2**30
FOREST = Profile(operations=1e12, model="forest", task="training")


def machine(name: str, group: str, gib: int = 32, **fields: object) -> ClusterNode:
    labels = {"couler.io/group": group}
    return ClusterNode(name, 8, gib * GIB, group, labels=labels, **fields)  # type: ignore[arg-type]  # of a node


LOW, HIGH = machine("l1", "low"), machine("h1", "high")
LAB = Cluster((LOW, HIGH), speeds=(Speed(1e9), Speed(4e9, "high")))
"""What is stated: high is four times as fast."""


def ran(node: str, seconds: float, operations: float = 1e10, model: str = "forest") -> Timed:
    return Timed(model, operations, seconds, node, None)


def step(name: str, profile: Profile = FOREST, **fields: object) -> Step:
    return Step.model_validate(
        {"name": name, "action": Container(image="busybox"), "profile": profile, **fields}
    )


def place(
    *steps: Step,
    timed: Sequence[Timed] | None = (),
    cluster: Cluster = LAB,
    pass_: Place | None = None,
) -> tuple[dict[str, str], PassContext]:
    """Return the group of each step, and what the pass said."""
    timings = None if timed is None else lambda: timed
    context = PassContext(cluster=lambda: cluster, timings=timings)
    made = (pass_ or Place()).run(Workflow(name="w", steps=steps), context)
    groups = {}
    for one in made.steps:
        assert one.placement is not None
        groups[one.name] = str(one.placement.node_selector["couler.io/group"])
    return groups, context


@pytest.mark.parametrize("timed", [None, (), (ran("elsewhere", 1.0),), (ran("l1", 0.0),)])
def test_without_measurements_nothing_is_other_than_it_was(timed: Sequence[Timed] | None) -> None:
    before, context = place(step("fit"), timed=None)
    after, other = place(step("fit"), timed=timed)
    assert (after, other.reason, other.step_reasons) == (
        before,
        context.reason,
        context.step_reasons,
    )
    assert "earlier runs" not in other.reason
    assert other.facts == {}


def test_it_can_be_told_not_to_learn_or_only_of_many() -> None:
    timed = [ran("l1", 1.0), ran("l1", 1.0), ran("h1", 5.0), ran("h1", 5.0)]
    assert place(step("fit"), timed=timed, pass_=Place(learn=False))[0] == {"fit": "high"}
    assert place(step("fit"), timed=timed, pass_=Place(least=3))[0] == {"fit": "high"}
    assert place(step("fit"), timed=timed, pass_=Place(least=2))[0] == {"fit": "low"}
    with pytest.raises(ValueError, match="least is at least 1"):
        Place(least=0)


def test_a_stated_speed_is_scaled_by_what_the_measured_groups_have_shown() -> None:
    """By hand: low is shown at 0.1 and mid at 0.3 of what is stated, so high counts at 0.2 of it.

    1e12 operations take 10,000 s on low, 1,667 s on mid and 1e12 / (0.2 * 4e9) = 1,250 s on high.
    """
    mid = machine("m1", "mid")
    cluster = Cluster((LOW, mid, HIGH), speeds=(Speed(1e9), Speed(2e9, "mid"), Speed(4e9, "high")))
    timed = [ran("l1", 100.0), ran("m1", 10.0 / 0.6)]
    found, context = place(step("fit"), timed=timed, cluster=cluster)
    assert found == {"fit": "high"}
    assert "takes 1,250 s there" in context.step_reasons["fit"]
    assert context.reason.endswith(
        "What is stated for forest on high is taken times 0.2, as that is the ratio of what "
        "earlier runs have shown to what is stated."
    )
    [told] = context.facts["scaled_speeds"]
    assert (told["model"], told["group"]) == ("forest", "high")
    assert (told["stated_operations_per_s"], round(told["factor"], 9)) == (4e9, 0.2)


def test_speeds_of_a_misspelt_kind_are_told() -> None:
    cluster = Cluster((LOW, HIGH), speeds=(Speed(1e9), Speed(4e9, "high", "forst")))
    _, context = place(step("fit"), cluster=cluster)
    assert 'stated for "forst", which is no known kind of model. Did you mean "forest"?' in (
        context.reason
    )
    cluster = Cluster((LOW, HIGH), speeds=(Speed(1e9), Speed(4e9, "high", "forest")))
    _, context = place(step("fit"), cluster=cluster)
    assert "no known kind" not in context.reason


def test_nobody_is_asked_where_nothing_computes() -> None:
    def ask() -> Sequence[Timed]:
        raise AssertionError("there is nothing to ask for")

    context = PassContext(cluster=lambda: LAB, timings=ask)
    steps = step("a", Profile(seconds=3)), step("b", Profile(operations=1e9))
    Place().run(Workflow(name="w", steps=steps), context)


def test_speeds_that_only_some_machines_have_shown_are_not_used_and_the_plan_says_so() -> None:
    """Nothing is stated: seconds stand for all machines, whatever one of them has shown."""
    bare = Cluster((LOW, HIGH))
    fit = step("fit", FOREST.model_copy(update={"seconds": 7}))
    _, context = place(fit, timed=[ran("l1", 1.0)], cluster=bare)
    assert "takes 7 s there" in context.step_reasons["fit"]
    assert context.reason.endswith(
        "What earlier runs tell of forest is not used for fit: nothing tells how fast it is on "
        "high, which can run it as well."
    )
    assert "Speeds by earlier runs" not in context.reason
    assert [one["is_used"] for one in context.facts["speeds"]] == [False]
    both, context = place(fit, timed=[ran("l1", 1.0), ran("h1", 2.0)], cluster=bare)
    assert both == {"fit": "low"}
    assert "takes 100 s there" in context.step_reasons["fit"]


def test_a_machine_that_cannot_run_it_need_not_have_shown_anything() -> None:
    big = machine("b1", "big", gib=256)
    bare = Cluster((LOW, HIGH, big))
    asks = Resources(memory="128Gi")
    found, context = place(
        step("fit", resources=asks), step("small"), timed=[ran("b1", 1.0)], cluster=bare
    )
    assert found["fit"] == "big"
    assert "takes 100 s there" in context.step_reasons["fit"]
    assert "Speeds by earlier runs: forest on big 1e10/s" in context.reason
    assert "is not used for small: nothing tells how fast it is on low, high" in context.reason


def test_a_speed_that_is_learned_fills_what_is_not_stated() -> None:
    half = Cluster((LOW, HIGH), speeds=(Speed(1e9, "high", "forest"),))
    with pytest.raises(PlacementError, match="nothing says how fast"):
        place(step("fit"), cluster=half)
    assert place(step("fit"), timed=[ran("l1", 1.0)], cluster=half)[0] == {"fit": "low"}


def test_a_gpu_is_taken_or_not_by_what_earlier_runs_have_shown() -> None:
    """By hand: without a GPU 1e12/1e10 = 100 s on low; with one 10 s as learned."""
    gpu = machine("g1", "gpu", gpus=Gpus("a100"))
    cluster = Cluster((LOW, gpu))
    net = FOREST.model_copy(update={"model": "dense-network"})
    cpu_ran = ran("l1", 1.0, model="dense-network")
    gpu_ran = ran("g1", 0.1, model="dense-network")._replace(has_gpus=True)
    for timed in ([cpu_ran], [cpu_ran, gpu_ran._replace(has_gpus=False)]):
        _, context = place(step("fit", net), timed=timed, cluster=cluster)
        assert "nothing tells how fast it is on gpu" in context.reason
    found, context = place(step("fit", net), timed=[cpu_ran, gpu_ran], cluster=cluster)
    assert found == {"fit": "gpu"}
    assert "takes 10 s there" in context.step_reasons["fit"]


def test_machines_without_a_group_that_are_alike_have_speeds_of_their_own() -> None:
    def alike(name: str) -> ClusterNode:
        return ClusterNode(name, 8, 32 * GIB, labels={"couler.io/group": name})

    cluster = Cluster(tuple(map(alike, "abc")), speeds=(Speed(1e9),))
    found, _ = place(step("fit"), timed=[ran("b", 1.0), ran("c", 5.0)], cluster=cluster)
    assert found == {"fit": "b"}


def test_what_it_went_by_is_in_the_log() -> None:
    workflow = Workflow(name="w", steps=(step("fit"),))
    _, log = Pipeline((Place(),)).run(
        workflow, cluster=lambda: LAB, timings=lambda: [ran("l1", 1.0)]
    )
    [told] = log.to_json()
    assert [one["group"] for one in told["facts"]["speeds"]] == ["low"]
    again = Pipeline((Place(),)).run(
        workflow, cluster=lambda: LAB, timings=lambda: [ran("l1", 1.0)]
    )[1]
    assert {**again.to_json()[0], "seconds": 0, "verify_seconds": 0} == {
        **told,
        "seconds": 0,
        "verify_seconds": 0,
    }
