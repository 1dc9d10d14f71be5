"""A workflow as tasks: what each needs of a machine, and how long it takes there."""

from __future__ import annotations

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus, Speed
from couler.ir.policies import Gpu, Placement, Profile, Resources, Toleration
from couler.ir.values import Compare, Literal, OwnRef, StepRef
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Foreach,
    Hook,
    Http,
    Input,
    Output,
    Step,
    Workflow,
)
from couler.optimizers.placement.learning import speeds_of
from couler.optimizers.placement.problem import Edge, Task
from couler.optimizers.placement.requirements import refusal
from couler.optimizers.placement.simulation import simulate
from couler.optimizers.placement.strategies.upward_rank import UpwardRank
from couler.optimizers.placement.strategy import Rules
from couler.optimizers.placement.workload import workload_of

GIB = 2**30
CLUSTER = Cluster(
    (ClusterNode("c", 8, 16 * GIB, "cpu"), ClusterNode("g", 8, 16 * GIB, "gpu", gpus=Gpus("a")))
)


def task(*, cluster: Cluster = CLUSTER, **fields: object) -> Task:
    step = Step.model_validate({"name": "a", "action": Container(image="busybox"), **fields})
    workflow = Workflow(name="w", steps=(step,))
    made = workload_of(workflow, cluster=cluster, gpu_models=["net"])
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


@pytest.mark.parametrize(("gib", "fits"), [(4, True), (16, True), (17, False)])
def test_a_machine_with_as_much_memory_as_is_asked_for_will_do(gib: int, fits: bool) -> None:
    found = task(resources=Resources(memory=f"{gib}Gi"))
    assert (refusal(found, CLUSTER.nodes[0], 1.0) is None) is fits


@pytest.mark.parametrize(("bytes_", "groups"), [(8 * GIB, 1), (8 * GIB + 1, 2)])
def test_pods_fit_beside_each_other_to_the_byte(bytes_: int, groups: int) -> None:
    resources = Resources(cpu="1", memory=str(bytes_))
    steps = tuple(
        Step(name=name, action=Container(image="busybox"), resources=resources) for name in "ab"
    )
    work = workload_of(Workflow(name="w", steps=steps), cluster=Cluster(CLUSTER.nodes[:1]))
    assert [one.memory_bytes for one in work.pipeline.tasks] == [bytes_, bytes_]
    rules = Rules("tasks", "requests", window_s=0, poll_s=0, memory_margin=1.0)
    report = simulate(
        [work.pipeline],
        Cluster(CLUSTER.nodes[:1]),
        UpwardRank(memory_margin=1.0),
        speeds_of(CLUSTER),
        rules,
    )
    assert len({one.start_s for one in report.spans}) == groups


def test_seconds_where_no_speed_is_stated_and_operations_where_one_is() -> None:
    both = Profile(seconds=7, operations=1e10, model="tree")
    assert (task(profile=both).operations, task(profile=both).seconds) == (0.0, {"": 7.0})
    known = Cluster(CLUSTER.nodes, speeds=(Speed(1e9, "cpu", "tree"),))
    assert task(cluster=known, profile=both).operations == 1e10
    other = Profile(operations=1e10, model="forest")
    assert task(cluster=known, profile=other).seconds == {"": 10.0}
    general = Cluster(CLUSTER.nodes, speeds=(Speed(1e9),))
    assert task(cluster=general, profile=other).operations == 1e10


def test_a_gpu_is_taken_where_it_is_faster() -> None:
    network = Profile(operations=1e10, model="net")
    faster = Cluster(CLUSTER.nodes, speeds=(Speed(1e9), Speed(1e11, "gpu", "net")))
    found = task(cluster=faster, profile=network)
    assert (found.gpus, found.gpu_resource) == (1, "nvidia.com/gpu")
    assert refusal(found, faster.nodes[0]) == "has no GPU"
    assert task(cluster=Cluster(CLUSTER.nodes, speeds=(Speed(1e9),)), profile=network).gpus == 0
    assert task(cluster=faster, profile=Profile(operations=1e10, model="tree")).gpus == 0


def test_a_gpu_goes_by_its_name() -> None:
    found = task(resources=Resources(gpu=Gpu(count=1, resource="amd.com/gpu")))
    assert refusal(found, CLUSTER.nodes[1]) == "has GPUs called nvidia.com/gpu, not amd.com/gpu"


def test_what_runs_in_no_pod_needs_nothing() -> None:
    http = Http(url="http://localhost")
    found = task(action=http, profile=Profile(seconds=3))
    assert (found.cpu, found.memory_bytes, found.seconds) == (0.0, 0, {"": 3.0})


def test_handlers_take_no_time_and_hooks_are_left_out() -> None:
    def step(name: str) -> Step:
        return Step(
            name=name,
            action=Container(image="busybox"),
            profile=Profile(seconds=9),
            resources=Resources(cpu="2"),
        )

    failed = Compare(op="==", left=OwnRef(fact="status"), right=Literal(value="failed"))
    hooked = step("a").model_copy(update={"hooks": (Hook(when=failed, step=step("tell")),)})
    handler = ExitHandler(name="clean", on="any", steps=(step("sweep"),))
    workflow = Workflow(name="w", steps=(hooked,), exit_handlers=(handler,))
    tasks = workload_of(workflow, cluster=CLUSTER).pipeline.tasks
    assert [(one.name, one.cpu, one.seconds) for one in tasks] == [
        ("a", 2.0, {"": 9.0}),
        ("exit:clean/sweep", 2.0, {"": 0.0}),
    ]


def test_items_share_what_there_is_to_do() -> None:
    each = Foreach(over={"item": Literal(value=tuple(range(128)))})
    fit = Step(
        name="fit",
        action=Container(image="busybox"),
        foreach=each,
        profile=Profile(seconds=3, output_bytes=10),
    )
    made = workload_of(Workflow(name="w", steps=(fit,)), cluster=CLUSTER)
    assert len(made.pipeline.tasks) == 64
    assert {one.seconds[""] for one in made.pipeline.tasks} == {6.0}
    assert set(made.step_of.values()) == {"fit"}
    assert made.pipeline.edges == ()


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
    made = workload_of(workflow, cluster=CLUSTER)
    assert made.pipeline.edges == (Edge("load", "fit", 100), Edge("load", "log", 0))
