"""What steps compute stays known of their groups, so that these can be placed."""

from __future__ import annotations

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed
from couler.ir.policies import Profile, Resources
from couler.ir.workflow import Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.passes.group import Group
from couler.optimizers.passes.place import Place
from couler.optimizers.pipeline import Pipeline
from tests.corpus.build import flow, py
from tests.optimizers.grouped.flows import names, run

KIND = "convolutional-network"
GIB = 1 << 30
LAB = Cluster(
    (
        ClusterNode("low-1", 4, 15 * GIB, "low", labels={"couler.io/group": "low"}),
        ClusterNode(
            "gpu-1",
            64,
            256 * GIB,
            "gpu",
            gpus=Gpus("A100", 4, 40 * GIB),
            labels={"couler.io/group": "gpu"},
        ),
    ),
    speeds=(Speed(1e9), Speed(1e12, group="gpu", model=KIND)),
)


def computes(name: str, *after: str, **profile: object) -> Step:
    return py(
        name,
        "1",
        depends_on=after,
        resources=Resources(cpu="2", memory="8Gi"),
        profile=Profile.model_validate(profile),
    )


def selection() -> Workflow:
    return flow(
        "w",
        computes("load", seconds=30),
        computes("fit", "load", operations=5e12, model=KIND, task="training"),
        computes("judge", "fit", operations=5e10, model=KIND, task="evaluation"),
        computes("forest", "judge", operations=7.0, model="random-forest", task="training"),
    )


def test_operations_of_one_kind_of_model_are_added() -> None:
    made, _ = run(selection())
    assert names(made) == ["load", "fit-to-judge", "forest"]
    assert made.steps[1].profile == Profile(operations=5.05e12, model=KIND, task="training")
    plain = [computes("a", seconds=2), computes("b", "a", seconds=3)]
    assert run(flow("w", *plain))[0].steps[0].profile == Profile(seconds=5)


def test_a_group_is_placed_where_its_steps_would_be() -> None:
    made, _ = Pipeline((Group(), Place())).run(selection(), cluster=lambda: LAB)
    [fit] = [step for step in made.steps if step.name == "fit-to-judge"]
    assert fit.resources is not None
    assert fit.resources.gpu is not None
    assert fit.placement is not None
    assert fit.placement.node_selector == {"couler.io/group": "gpu"}


def test_steps_that_have_been_placed_share_a_pod_only_where_they_go_to_the_same_place() -> None:
    placed, _ = Pipeline((Place(),)).run(selection(), cluster=lambda: LAB)
    made, _ = Pipeline((Place(), Group())).run(selection(), cluster=lambda: LAB)
    groups = {step.name: step for step in placed.steps}
    assert groups["fit"].placement != groups["judge"].placement  # by what is left after each
    assert names(made) == names(placed)


def test_seconds_that_are_known_of_some_steps_are_the_least() -> None:
    """They never become those of a step of which nothing is known."""
    steps = computes("a", seconds=30), computes("b", "a", output_bytes=7)
    made, context = run(flow("w", *steps))
    assert made.steps[0].profile == Profile(seconds=30, output_bytes=7)
    assert "Its seconds are those of 1 of 2 steps." in context.step_reasons["a-to-b"]
    context = PassContext(cluster=lambda: LAB)
    Place().run(made, context)
    assert "takes 30 s" in context.step_reasons["a-to-b"]
