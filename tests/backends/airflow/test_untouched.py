"""No text of a user stands bare in a field of an operator that Airflow renders."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

import pytest

from couler.backends.airflow import AirflowBackend
from couler.ir.artifacts import RawLocation
from couler.ir.base import FrozenDict
from couler.ir.defaults import resolve_defaults
from couler.ir.pods import ContainerSettings, Dns, HostAlias, PodContainer, PodSettings, StepPod
from couler.ir.policies import Foreach, Placement, Toleration
from couler.ir.storage import ConfigVolume, CsiVolume, EnvFrom, EnvVar, HostVolume, Mount, NfsVolume
from couler.ir.values import Literal as Known
from couler.ir.workflow import Container, Input, Output, Schedule, Step, Workflow
from tests.backends.airflow.files import Literal, operators_of
from tests.corpus.build import flow
from tests.support.airflow_target import with_files

TEXT = "{{ ti }}$(HOME)$$"
RENDERED = (
    *("image", "name", "hostname", "cmds", "annotations", "arguments", "env_vars", "labels"),
    *("pod_template_dict", "namespace", "container_resources", "volumes", "volume_mounts"),
    *("env_from", "configmaps", "node_selector", "kubernetes_conn_id", "base_container_name"),
    *("op_args", "op_kwargs", "templates_dict", "yaml_conf", "subject", "body"),
)
"""Fields of all operators of such files together."""
FOR_KUBELET = ("command", "args", "cmds", "arguments", "env", "env_vars")
"""Where Kubernetes expands variables, but in objects that users write as it does."""


def bare(tree: t.Any) -> Iterator[str]:
    """Yield the texts of users that Jinja would read."""
    match tree:
        case Literal():
            return
        case str():
            if TEXT[:8] in tree:
                yield tree
        case dict():
            for one in tree.values():
                yield from bare(one)
        case list() | tuple():
            for one in tree:
                yield from bare(one)


def single(tree: t.Any, *, is_read: bool = False) -> Iterator[str]:
    """Yield the texts of users of which a kubelet would take something for its own."""
    match tree:
        case str():
            if is_read and TEXT in tree:
                yield tree
        case dict():
            for name, one in tree.items():
                yield from single(one, is_read=is_read or name in FOR_KUBELET)
        case list() | tuple():
            for one in tree:
                yield from single(one, is_read=is_read)


def container(name: str, **fields: t.Any) -> PodContainer:
    return PodContainer(
        name=name,
        image=f"{TEXT}:1",
        command=("run", TEXT),
        args=(TEXT,),
        env=(EnvVar(name="A", value=TEXT),),
        env_from=(EnvFrom(secret="s", prefix=TEXT),),
        mounts=(Mount(volume="host", path=f"/a/{TEXT}", sub_path=TEXT),),
        working_dir=f"/{TEXT}",
        settings=SETTINGS,
        **fields,
    )


SETTINGS = ContainerSettings(
    liveness_probe=FrozenDict(httpGet=FrozenDict(path=f"/{TEXT}", port=80)),
    lifecycle=FrozenDict(preStop=FrozenDict(httpGet=FrozenDict(path=TEXT, port=80))),
    security_context=FrozenDict(seLinuxOptions=FrozenDict(level=TEXT)),
    termination_message_path=f"/{TEXT}",
)


def workflow(**fields: t.Any) -> Workflow:
    placed = FrozenDict(matchExpressions=(FrozenDict(key="a", operator="In", values=(TEXT,)),))
    step = Step(
        name="a",
        action=Container(image=TEXT, command=("run", TEXT, f"{TEXT}\na\nb\n"), args=(TEXT,)),
        env=(EnvVar(name="A", value=TEXT),),
        inputs=(Input(name="i", type="file", path=f"/{TEXT}", at=RawLocation(content=TEXT)),),
        outputs=(Output(name="o", path=TEXT), Output(name="f", type="file", path=TEXT)),
        working_dir=f"/{TEXT}",
        mounts=(
            Mount(volume="host", path=f"/b/{TEXT}", sub_path=TEXT),
            *(Mount(volume=name, path=f"/{name}") for name in ("nfs", "csi", "config")),
        ),
        init_containers=(container("before"),),
        sidecars=(container("beside"),),
        container=SETTINGS,
        labels=FrozenDict(a=TEXT),
        annotations=FrozenDict(a=TEXT),
        placement=Placement(
            node_selector=FrozenDict(a=TEXT),
            tolerations=(Toleration(key="a", value=TEXT),),
            affinity=FrozenDict(nodeAffinity=placed),
            priority_class=TEXT,
        ),
        pod=StepPod(
            service_account=TEXT,
            scheduler=TEXT,
            host_aliases=(HostAlias(ip="1.2.3.4", names=(TEXT,)),),
            spec_patch=FrozenDict(hostname=TEXT),
        ),
        display_name=TEXT,
        **fields,
    )
    return flow(
        "w",
        step,
        description=TEXT,
        labels=FrozenDict(a=TEXT),
        annotations=FrozenDict(a=TEXT),
        schedule=Schedule(cron=("0 3 * * *",)),
        volumes=[
            HostVolume(name="host", path=f"/{TEXT}"),
            NfsVolume(name="nfs", server=TEXT, path=TEXT),
            CsiVolume(name="csi", driver=TEXT, attributes=FrozenDict(a=TEXT)),
            ConfigVolume(name="config", config_map=TEXT, items=FrozenDict(k=TEXT)),
        ],
        pod=PodSettings(
            image_pull_secrets=(TEXT,),
            dns=Dns(policy="None", searches=(TEXT,), options=FrozenDict(a=TEXT)),
        ),
    )


@pytest.mark.parametrize("is_mapped", [False, True])
def test_no_text_is_read_as_something_else(is_mapped: bool) -> None:
    over = Foreach(over={"item": Known(value=(1, 2))}) if is_mapped else None
    wanted = resolve_defaults(workflow(foreach=over))
    text = AirflowBackend().compile(wanted, with_files()).to_text()
    given = operators_of(text)["a"].arguments
    shown = {name: value for name, value in given.items() if name in RENDERED}
    assert shown.keys() >= {"image", "arguments", "env_vars", "node_selector", "pod_template_dict"}
    assert ("annotations" in shown) != is_mapped
    assert {name: found for name, one in shown.items() if (found := [*bare(one)])} == {}
    assert [*single(given)] == []
