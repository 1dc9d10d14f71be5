"""What pods are given in a DAG file."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.base import FrozenDict
from couler.ir.pods import PodContainer, PodSettings, StepPod
from couler.ir.policies import Gpu, Resources
from couler.ir.storage import EmptyVolume, EnvVar, Mount, SecretKey
from couler.ir.workflow import Workflow
from tests.backends.airflow.files import Pods, calls_of
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()


def pods_of(workflow: Workflow, **options: str) -> Pods:
    return calls_of(BACKEND.compile(workflow, Target(options=options)).to_text())


def arguments(workflow: Workflow, **options: str) -> dict[str, t.Any]:
    """Return the arguments of the operator of the step `a`."""
    return pods_of(workflow, **options)["a"]


def test_a_plain_secret_is_a_secret_of_airflow() -> None:
    given = arguments(flow(echo("a", env=(_secret("TOKEN"),))))
    assert given["secrets"] == [("Secret", "env", "TOKEN", "hub", "token")]


@pytest.mark.parametrize("variable", [("token", False), ("TOKEN", True)])
def test_a_secret_that_airflow_would_change_is_one_of_the_pod(variable: tuple[str, bool]) -> None:
    name, optional = variable
    given = arguments(flow(echo("a", env=(_secret(name, optional=optional),))))
    (entry,) = given["pod_template_dict"]["spec"]["containers"][0]["env"]
    key = {"name": "hub", "key": "token", **({"optional": True} if optional else {})}
    assert entry == {"name": name, "valueFrom": {"secretKeyRef": key}}
    assert "secrets" not in given


def test_the_type_of_a_gpu_is_a_label_of_nodes() -> None:
    workflow = flow(echo("a", resources=Resources(gpu=Gpu(count=2, type="a100"))))
    given = arguments(workflow)
    assert given["node_selector"] == {"nvidia.com/gpu.product": "a100"}
    limits = {"nvidia.com/gpu": "2"}
    assert given["container_resources"] == ("k8s.V1ResourceRequirements", {"limits": limits})
    assert arguments(workflow, gpu_type_label="gpu")["node_selector"] == {"gpu": "a100"}


def test_only_volumes_that_a_step_sees_are_in_its_pod() -> None:
    volumes = (EmptyVolume(name="one"), EmptyVolume(name="two"), EmptyVolume(name="three"))
    beside = PodContainer(
        name="b", image="x", command=("y",), mounts=(Mount(volume="two", path="/two"),)
    )
    step = echo("a", mounts=(Mount(volume="one", path="/one"),), init_containers=(beside,))
    spec = arguments(flow(step, volumes=volumes))["pod_template_dict"]["spec"]
    assert [one["name"] for one in spec["volumes"]] == ["one", "two"]


def test_bounds_of_waiting_and_of_the_whole_attempt() -> None:
    pod = StepPod(pending_timeout_s=90.5, timeout_s=600)
    given = arguments(flow(echo("a", pod=pod, timeout_s=59.5)))
    assert given["schedule_timeout_seconds"] == 91
    assert given["execution_timeout"] == ("timedelta", {"seconds": 600})
    assert given["active_deadline_seconds"] == 60


def test_a_patch_is_merged_last() -> None:
    patch = FrozenDict(
        schedulerName="volcano",
        dnsConfig=None,
        containers=(FrozenDict(name="main", stdin=True),),
        volumes=(FrozenDict(name="more", emptyDir=FrozenDict()),),
        topologySpreadConstraints=(FrozenDict(maxSkew=1),),
    )
    step = echo("a", pod=StepPod(scheduler="other", spec_patch=patch))
    given = arguments(flow(step, pod=PodSettings(spec_patch=FrozenDict(nodeName="n"))))
    assert given["schedulername"] == "volcano"
    assert given["pod_template_dict"]["spec"] == {
        "containers": [{"name": "base", "stdin": True}],
        "nodeName": "n",
        "volumes": [{"name": "more", "emptyDir": {}}],
        "topologySpreadConstraints": [{"maxSkew": 1}],
    }


def _secret(name: str, *, optional: bool = False) -> EnvVar:
    key = SecretKey(secret="hub", key="token", optional=optional)
    return EnvVar(name=name, secret=key)
