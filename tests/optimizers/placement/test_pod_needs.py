"""What pods ask of a machine, worked by hand by the rules of Kubernetes."""

from __future__ import annotations

import pytest

from couler.ir.pods import PodContainer, PodSettings, StepPod
from couler.ir.policies import Gpu, Placement, Resources, Toleration
from couler.ir.workflow import Container, ContainerSet, Step
from couler.optimizers.placement.pod_needs import effective_placement, needs_of


def beside(**asked: object) -> PodContainer:
    return PodContainer(name="x", image="x", resources=Resources(**asked))  # type: ignore[arg-type]  # of resources


def step(**fields: object) -> Step:
    return Step.model_validate({"name": "a", "action": Container(image="x"), **fields})


@pytest.mark.parametrize(
    ("fields", "cpu"),
    [
        ({}, 0.0),
        ({"resources": Resources(cpu="1500m")}, 1.5),
        ({"resources": Resources(cpu_limit="8")}, 8.0),
        ({"resources": Resources(cpu="2", cpu_limit="8")}, 2.0),
        ({"resources": Resources(cpu="2"), "sidecars": (beside(cpu="3"),)}, 5.0),
        ({"resources": Resources(cpu="2"), "init_containers": (beside(cpu="8"),)}, 8.0),
        ({"resources": Resources(cpu="9"), "init_containers": (beside(cpu="8"),)}, 9.0),
        ({"resources": Resources(cpu="2"), "pod": StepPod(resources=Resources(cpu="4"))}, 4.0),
        ({"action": ContainerSet(containers=(beside(cpu="3"), beside(cpu="3")))}, 6.0),
    ],
)
def test_processors(fields: dict[str, object], cpu: float) -> None:
    assert needs_of(step(**fields)).cpu == cpu


def test_memory_gpus_and_what_nobody_tells_of() -> None:
    found = needs_of(
        step(
            resources=Resources(memory="1Gi", other={"rdma/hca": "1"}),
            sidecars=(
                beside(memory_limit="1Gi", gpu=Gpu(count=2, type="a", resource="amd.com/gpu")),
            ),
        )
    )
    assert found.memory_bytes == 2 * 2**30
    assert (found.gpus, found.gpu_type, found.gpu_resource) == (2, "a", "amd.com/gpu")
    assert found.others == ("rdma/hca",)


def test_the_pod_of_all_steps_counts_where_a_step_says_nothing() -> None:
    every = PodSettings(resources=Resources(cpu="3"))
    assert needs_of(step(), every).cpu == 3.0
    assert needs_of(step(pod=StepPod(resources=Resources(cpu="1"))), every).cpu == 1.0


def test_what_a_step_says_of_its_place_stands_before_what_all_pods_have() -> None:
    spot, own = Toleration(key="spot"), Toleration(key="own")
    every = PodSettings(node_selector={"zone": "b"}, tolerations=(spot,), priority_class="low")
    found = effective_placement(step(placement=Placement(tolerations=(own,))), every)
    assert found == Placement(node_selector={"zone": "b"}, tolerations=(own,), priority_class="low")
