"""Workflows that state all that pods, their containers and runs can be told."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.base import FrozenDict
from couler.ir.pods import (
    ContainerSettings,
    Device,
    DisruptionBudget,
    Dns,
    HostAlias,
    PodCleanup,
    PodContainer,
    PodSettings,
    Port,
    Resize,
    RestartRule,
    Retention,
    RunLabel,
    RunSettings,
    StepPod,
)
from couler.ir.policies import Resources, Toleration
from couler.ir.storage import (
    ClaimVolume,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    EphemeralVolume,
    Mount,
    NfsVolume,
    ProjectedVolume,
    SecretKey,
    SecretVolume,
    SourceVolume,
)
from couler.ir.values import ParamRef, RunRef, StepRef, Template
from couler.ir.workflow import Job, Parameter, Script, Step, Workflow
from tests.support.features.whole import PLUGIN
from tests.support.sample_flows import echo, flow

SETTINGS = ContainerSettings(
    ports=(
        Port(number=8080, name="http", host_port=18080, host_ip="127.0.0.1"),
        Port(number=53, protocol="UDP"),
    ),
    liveness_probe=FrozenDict(exec=FrozenDict(command=("true",)), periodSeconds=5),
    readiness_probe=FrozenDict(httpGet=FrozenDict(port="http", path="/ready")),
    startup_probe=FrozenDict(tcpSocket=FrozenDict(port=8080), failureThreshold=30),
    lifecycle=FrozenDict(preStop=FrozenDict(sleep=FrozenDict(seconds=1))),
    security_context=FrozenDict(runAsUser=1000, capabilities=FrozenDict(drop=("ALL",))),
    restart_policy="Never",
    restart_rules=(RestartRule(exit_codes=(42,)), RestartRule(exit_codes=(1, 2), others=True)),
    resize=(Resize(resource="cpu"), Resize(resource="memory", restart=True)),
    stdin=True,
    stdin_once=True,
    tty=True,
    termination_message_path="/dev/termination-log",
    termination_message_policy="FallbackToLogsOnError",
    devices=(Device(volume="blocks", path="/dev/xvda"),),
)
OLDER_SETTINGS = SETTINGS.model_copy(update={"restart_rules": ()})
"""Those that Kubernetes knew before 1.34."""

BLOCKS = ClaimVolume(name="blocks", claim="raw")
SCRATCH = EmptyVolume(name="scratch", in_memory=True, size="1Gi")

BESIDE = PodContainer(
    name="database",
    image="postgres:17",
    command=("postgres",),
    args=("-c", Template(parts=("max_connections=", ParamRef(name="connections")))),
    env=(
        EnvVar(name="POSTGRES_DB", value=ParamRef(name="database")),
        EnvVar(name="POSTGRES_PASSWORD", secret=SecretKey(secret="postgres", key="password")),
    ),
    env_from=(EnvFrom(config_map="postgres", prefix="PG"),),
    mounts=(Mount(volume="scratch", path="/var/lib/postgresql"),),
    mirror_mounts=True,
    resources=Resources(cpu="500m", memory="1Gi"),
    working_dir="/srv",
    pull_policy="IfNotPresent",
    settings=SETTINGS,
)

POD: Mapping[str, t.Any] = {
    "service_account": "trainer",
    "automount_service_account_token": False,
    "executor_service_account": "executor",
    "host_aliases": (HostAlias(ip="10.0.0.1", names=("db", "db.example.org")),),
    "scheduler": "volcano",
    "security_context": FrozenDict(fsGroup=2000, runAsNonRoot=True),
    "spec_patch": FrozenDict(terminationGracePeriodSeconds=5),
}

_PARAMETERS = (
    Parameter(name="connections", type="int", default=10),
    Parameter(name="database", default="models"),
)


def _script(**fields: t.Any) -> Step:
    return Step(name="a", action=Script(image="python:3.12-slim", source="print(1)"), **fields)


POD_SAMPLES: Mapping[str, Workflow] = {
    "container-with-all-settings": flow(echo("a", container=OLDER_SETTINGS), volumes=(BLOCKS,)),
    "script-with-all-container-settings": flow(_script(container=SETTINGS), volumes=(BLOCKS,)),
    "containers-beside-and-before": flow(
        echo("name"),
        echo(
            "a",
            mounts=(Mount(volume="scratch", path="/scratch"),),
            sidecars=(BESIDE,),
            init_containers=(
                BESIDE.model_copy(update={"name": "prepare"}),
                PodContainer(
                    name="greet",
                    image="busybox:1.37",
                    command=("sh", "-c", 'echo "$0" > "$COULER_WORK/$(date +%s)"'),
                    args=(StepRef(step="name"), "{{workflow.name}}"),
                    mirror_mounts=True,
                ),
            ),
        ),
        volumes=(BLOCKS, SCRATCH),
        parameters=_PARAMETERS,
    ),
    "pod-of-a-step": flow(echo("a", pod=StepPod(**POD, timeout_s=90.5), display_name="first.step")),
    "pod-of-a-job": flow(
        Step(
            name="a",
            action=Job(manifest=FrozenDict(apiVersion="v1", kind="ConfigMap")),
            pod=StepPod(service_account="creator"),
        )
    ),
    "pods-of-a-workflow": flow(
        echo("a"),
        pod=PodSettings(
            **POD,
            image_pull_secrets=("registry",),
            node_selector=FrozenDict(disk="ssd"),
            tolerations=(Toleration(key="gpu", operator="Exists"),),
            affinity=FrozenDict(
                podAntiAffinity=FrozenDict(
                    preferredDuringSchedulingIgnoredDuringExecution=(
                        FrozenDict(
                            weight=1,
                            podAffinityTerm=FrozenDict(topologyKey="kubernetes.io/hostname"),
                        ),
                    )
                )
            ),
            priority_class="high",
            dns=Dns(policy="ClusterFirst", options=FrozenDict(ndots="2")),
            host_network=True,
            labels=FrozenDict(team="ml"),
            annotations=FrozenDict(note="a: b"),
        ),
    ),
    "runs-with-all-settings": flow(
        echo("a"),
        parameters=_PARAMETERS,
        keep_s=3600,
        runs=RunSettings(
            priority=5,
            labels=(
                RunLabel(name="team", value="ml"),
                RunLabel(name="database", value=ParamRef(name="database")),
                RunLabel(
                    name="example.org/what",
                    value=Template(parts=("on-", ParamRef(name="database"))),
                ),
                RunLabel(name="run", value=RunRef(field="id")),
            ),
            annotations=FrozenDict(note="all of it"),
            retention=Retention(after_success_s=60, after_failure_s=86400),
            disruption_budget=DisruptionBudget(min_available=9999),
            pod_cleanup=PodCleanup(when="run_completion", labels=FrozenDict(team="ml"), delay_s=30),
            claim_cleanup="run_success",
        ),
    ),
    "volumes-of-all-kinds": flow(
        echo(
            "a",
            mounts=tuple(
                Mount(volume=name, path=f"/{name}")
                for name in ("secret", "config", "nfs", "csi", "claim", "projected", "image")
            ),
        ),
        volumes=(
            SecretVolume(
                name="secret",
                secret="hub",
                items=FrozenDict(token="in/token"),
                mode=0o440,
                optional=True,
            ),
            ConfigVolume(name="config", config_map="settings", mode=0, optional=True),
            NfsVolume(name="nfs", server="files.example.org", path="/exports", read_only=True),
            CsiVolume(
                name="csi",
                driver="inline.storage.kubernetes.io",
                attributes=FrozenDict(share="models"),
                file_system="ext4",
                read_only=True,
                secret="share",
            ),
            EphemeralVolume(name="claim", size="1Gi", storage_class="fast"),
            ProjectedVolume(
                name="projected",
                sources=(
                    FrozenDict(serviceAccountToken=FrozenDict(path="token")),
                    FrozenDict(secret=FrozenDict(name="hub")),
                ),
                mode=0o400,
            ),
            SourceVolume(name="image", source=FrozenDict(image=FrozenDict(reference="data:1"))),
        ),
    ),
    "plugins": flow(
        echo("a"),
        runs=RunSettings(
            plugins=(PLUGIN.model_copy(update={"automount_service_account_token": True}),)
        ),
    ),
    "pod-resources-of-a-step": flow(
        echo(
            "a",
            pod=StepPod(
                pending_timeout_s=600,
                resources=Resources(cpu="2", memory="4Gi"),
                resource_claims=(FrozenDict(name="gpu", resourceClaimTemplateName="one-gpu"),),
            ),
        )
    ),
}
"""By what they show."""
