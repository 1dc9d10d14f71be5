"""A workflow as tasks: what each needs of a machine, and how long it takes there."""

from __future__ import annotations

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed
from couler.ir.policies import Gpu, Placement, Profile, Resources, Toleration
from couler.ir.values import Literal, StepRef
from couler.ir.workflow import Container, Foreach, Input, Output, Step, Workflow
from couler.optimizers.placement.problem import Edge, Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.placement.workload import speeds_of, workload_of

GIB = 2**30
CLUSTER = Cluster(
    (ClusterNode("c", 8, 16 * GIB, "cpu"), ClusterNode("g", 8, 16 * GIB, "gpu", gpus=Gpus("a")))
)


def task(*, cluster: Cluster = CLUSTER, margin: float = 2.0, **fields: object) -> Task:
    step = Step.model_validate({"name": "a", "action": Container(image="busybox"), **fields})
    workflow = Workflow(name="w", steps=(step,))
    made = workload_of(workflow, cluster=cluster, margin=margin, gpu_models=["net"])
    return made.pipeline.tasks[0]


def test_what_is_asked_for() -> None:
    found = task(
        resources=Resources(cpu="1500m", memory="4Gi", gpu=Gpu(count=2, type="a")),
        placement=Placement(
            node_selector={"zone": "b", "kubernetes.io/arch": "arm64"},
            tolerations=(Toleration(key="spot", operator="Exists"),),
        ),
        profile=Profile(seconds=7, model="net", task="training"),
    )
    assert (found.cpu, found.gpus, found.gpu_type) == (1.5, 2, "a")
    assert (found.architecture, found.selector) == ("arm64", {"zone": "b"})
    assert [one.key for one in found.tolerations] == ["spot", "nvidia.com/gpu"]
    assert (found.kind, found.model, found.seconds) == ("training", "net", {"": 7.0})


@pytest.mark.parametrize("margin", [1.0, 2.0, 3.5])
@pytest.mark.parametrize(("gib", "fits"), [(4, True), (16, True), (17, False)])
def test_a_machine_with_as_much_memory_as_is_asked_for_will_do(
    margin: float, gib: int, fits: bool
) -> None:
    found = task(margin=margin, resources=Resources(memory=f"{gib}Gi"))
    assert (refusal(found, CLUSTER.nodes[0], margin) is None) is fits


def test_of_memory_the_more_counts() -> None:
    more = Profile(memory_bytes=17 * GIB)
    found = task(resources=Resources(memory="1Gi"), profile=more)
    assert refusal(found, CLUSTER.nodes[0]) is not None


def test_seconds_where_no_speed_is_stated_and_operations_where_one_is() -> None:
    both = Profile(seconds=7, operations=1e10, model="net")
    assert (task(profile=both).operations, task(profile=both).seconds) == (0.0, {"": 7.0})
    known = Cluster(CLUSTER.nodes, speeds=(Speed(1e9, "gpu", "net"),))
    assert task(cluster=known, profile=both).operations == 1e10
    other = Profile(seconds=7, operations=1e10, model="tree")
    assert task(cluster=known, profile=other).seconds == {"": 7.0}
    unknown = Profile(operations=1e10, model="tree")
    assert task(cluster=known, profile=unknown).operations == 1e10


def test_what_nobody_knows_takes_as_long_as_others() -> None:
    steps = [
        Step(name=name, action=Container(image="busybox"), profile=profile)
        for name, profile in (("a", Profile(seconds=2)), ("b", None), ("c", Profile(seconds=4)))
    ]
    made = workload_of(Workflow(name="w", steps=tuple(steps)), cluster=CLUSTER, margin=2.0)
    assert [one.seconds for one in made.pipeline.tasks] == [{"": 2.0}, {"": 3.0}, {"": 4.0}]


def test_items_share_what_there_is_to_do() -> None:
    each = Foreach(over={"item": Literal(value=tuple(range(128)))})
    fit = Step(
        name="fit",
        action=Container(image="busybox"),
        foreach=each,
        profile=Profile(seconds=3, output_bytes=10),
    )
    made = workload_of(Workflow(name="w", steps=(fit,)), cluster=CLUSTER, margin=2.0)
    assert len(made.pipeline.tasks) == 64
    assert {one.seconds[""] for one in made.pipeline.tasks} == {6.0}
    assert set(made.step_of.values()) == {"fit"}
    assert made.pipeline.edges == ()


def test_speeds_have_one_for_whatever_is_not_stated() -> None:
    assert speeds_of(CLUSTER).rates == {("", ""): 1e9}
    stated = (Speed(5e9, "cpu", "tree"), Speed(3e9, "gpu", "net"))
    assert speeds_of(Cluster(CLUSTER.nodes, speeds=stated)).rates["", ""] == 3e9
    general = (*stated, Speed(4e9, "cpu"))
    assert speeds_of(Cluster(CLUSTER.nodes, speeds=general)).rates["", ""] == 4e9


def test_only_what_is_read_is_moved() -> None:
    load = Step(
        name="load",
        action=Container(image="busybox"),
        outputs=(Output(),),
        profile=Profile(output_bytes=100),
    )
    reader = Step(
        name="fit",
        action=Container(image="busybox"),
        inputs=(Input(name="x", value=StepRef(step="load")),),
    )
    after = Step(name="log", action=Container(image="busybox"), depends_on=("load",))
    workflow = Workflow(name="w", steps=(load, reader, after))
    made = workload_of(workflow, cluster=CLUSTER, margin=2.0)
    assert made.pipeline.edges == (Edge("load", "fit", 100), Edge("load", "log", 0))
