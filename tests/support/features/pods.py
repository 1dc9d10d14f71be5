"""Pods: a minimal workflow for each feature of where and in what a step runs."""

from __future__ import annotations

import typing as t

from couler.ir.base import FrozenDict
from couler.ir.features import Feature
from couler.ir.pods import (
    ContainerSettings,
    Device,
    Dns,
    HostAlias,
    PodContainer,
    PodSettings,
    Port,
    Resize,
    StepPod,
)
from couler.ir.policies import Gpu, Placement, Resources, Toleration
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    EphemeralVolume,
    HostVolume,
    Mount,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretKey,
    SecretVolume,
    SourceVolume,
    Volume,
)
from couler.ir.workflow import Workflow
from tests.support.sample_flows import echo, flow, one_step


def _places(**fields: t.Any) -> Workflow:
    return one_step(placement=Placement(**fields))


def _pods(**fields: t.Any) -> Workflow:
    return flow(echo("a"), pod=PodSettings(**fields))


def _contains(**fields: t.Any) -> Workflow:
    return one_step(container=ContainerSettings(**fields))


def _mounts(volume: Volume) -> Workflow:
    mount = Mount(volume=volume.name, path="/data")
    return flow(echo("a", mounts=(mount,)), volumes=(volume,))


DATABASE = PodContainer(name="db", image="postgres:17", command=("postgres",))

PODS: dict[Feature, Workflow] = {
    Feature.RESOURCES: one_step(resources=Resources(cpu="500m", memory="1Gi")),
    Feature.GPU: one_step(resources=Resources(gpu=Gpu(count=1))),
    Feature.GPU_TYPE: one_step(resources=Resources(gpu=Gpu(count=1, type="a100"))),
    Feature.NODE_SELECTOR: _places(node_selector=FrozenDict(disk="ssd")),
    Feature.TOLERATIONS: _places(tolerations=(Toleration(key="gpu", operator="Exists"),)),
    Feature.AFFINITY: _places(affinity=FrozenDict(nodeAffinity=FrozenDict())),
    Feature.PRIORITY_CLASS: _places(priority_class="high"),
    Feature.STEP_PRIORITY: _places(priority=5),
    Feature.ENV: one_step(env=(EnvVar(name="MODE", value="fast"),)),
    Feature.SECRET_ENV: one_step(
        env=(EnvVar(name="TOKEN", secret=SecretKey(secret="hub", key="token")),)
    ),
    Feature.CONFIG_ENV: one_step(
        env=(EnvVar(name="MODE", config=ConfigKey(config_map="settings", key="mode")),)
    ),
    Feature.ENV_FROM: one_step(env_from=(EnvFrom(secret="hub"),)),
    Feature.WORKING_DIR: one_step(working_dir="/srv"),
    Feature.PULL_POLICY: one_step(pull_policy="Always"),
    Feature.POD_LABELS: one_step(labels=FrozenDict(team="ml")),
    Feature.SIDECAR: one_step(sidecars=(DATABASE,)),
    Feature.INIT_CONTAINER: one_step(init_containers=(DATABASE,)),
    Feature.CONTAINER_PORTS: _contains(ports=(Port(number=8080, name="http"),)),
    Feature.CONTAINER_PROBES: _contains(
        liveness_probe=FrozenDict(exec=FrozenDict(command=("true",)))
    ),
    Feature.READINESS_PROBE: _contains(
        readiness_probe=FrozenDict(tcpSocket=FrozenDict(port=8080)),
    ),
    Feature.CONTAINER_LIFECYCLE: _contains(
        lifecycle=FrozenDict(postStart=FrozenDict(exec=FrozenDict(command=("true",))))
    ),
    Feature.CONTAINER_SECURITY_CONTEXT: _contains(security_context=FrozenDict(runAsUser=1000)),
    Feature.CONTAINER_RESTART: _contains(restart_policy="OnFailure"),
    Feature.CONTAINER_RESIZE: _contains(resize=(Resize(resource="cpu"),)),
    Feature.CONTAINER_STDIN: _contains(stdin=True),
    Feature.TERMINATION_MESSAGE: _contains(termination_message_policy="FallbackToLogsOnError"),
    Feature.VOLUME_DEVICES: flow(
        echo("a", container=ContainerSettings(devices=(Device(volume="data", path="/dev/xvda"),))),
        volumes=(ClaimVolume(name="data", claim="blocks"),),
    ),
    Feature.VOLUME_CLAIM: _mounts(ClaimVolume(name="data", claim="shared")),
    Feature.VOLUME_NEW_CLAIM: _mounts(NewClaimVolume(name="data", size="1Gi")),
    Feature.VOLUME_EMPTY: _mounts(EmptyVolume(name="data")),
    Feature.VOLUME_SECRET: _mounts(SecretVolume(name="data", secret="hub")),
    Feature.VOLUME_CONFIG: _mounts(ConfigVolume(name="data", config_map="settings")),
    Feature.VOLUME_HOST: _mounts(HostVolume(name="data", path="/mnt/data")),
    Feature.VOLUME_NFS: _mounts(NfsVolume(name="data", server="files", path="/exports")),
    Feature.VOLUME_CSI: _mounts(CsiVolume(name="data", driver="secrets.example.org")),
    Feature.VOLUME_EPHEMERAL: _mounts(EphemeralVolume(name="data", size="1Gi")),
    Feature.VOLUME_PROJECTED: _mounts(
        ProjectedVolume(name="data", sources=({"serviceAccountToken": {"path": "token"}},))
    ),
    Feature.VOLUME_SOURCE: _mounts(
        SourceVolume(name="data", source=FrozenDict(image=FrozenDict(reference="data:1")))
    ),
    Feature.SERVICE_ACCOUNT: _pods(service_account="runner"),
    Feature.IMAGE_PULL_SECRETS: _pods(image_pull_secrets=("registry",)),
    Feature.POD_PLACEMENT: _pods(node_selector=FrozenDict(disk="ssd")),
    Feature.DNS: _pods(dns=Dns(policy="ClusterFirst")),
    Feature.SECURITY_CONTEXT: _pods(security_context=FrozenDict(runAsNonRoot=True)),
    Feature.HOST_ALIASES: _pods(host_aliases=(HostAlias(ip="10.0.0.1", names=("db",)),)),
    Feature.HOST_NETWORK: _pods(host_network=True),
    Feature.SCHEDULER: _pods(scheduler="volcano"),
    Feature.POD_RESOURCES: _pods(resources=Resources(cpu="2")),
    Feature.RESOURCE_CLAIMS: _pods(
        resource_claims=({"name": "gpu", "resourceClaimTemplateName": "one-gpu"},)
    ),
    Feature.POD_SPEC_PATCH: _pods(spec_patch=FrozenDict(terminationGracePeriodSeconds=5)),
    Feature.POD_TIMEOUT: one_step(pod=StepPod(timeout_s=600)),
    Feature.PENDING_TIMEOUT: one_step(pod=StepPod(pending_timeout_s=600)),
    Feature.DISPLAY_NAME: one_step(display_name="the-first"),
}
