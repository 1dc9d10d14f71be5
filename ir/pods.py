"""Pods: settings of a step's own container, containers beside and before it, and the pod itself."""

from __future__ import annotations

import typing as t

from pydantic import Field as ModelField, NonNegativeInt

from couler.ir.base import FrozenDict, JsonMap, Node, TextMap
from couler.ir.policies import Positive, Resources, Toleration
from couler.ir.storage import EnvFrom, EnvVar, Mount
from couler.ir.traversal import At
from couler.ir.values import Text

PortNumber = t.Annotated[int, ModelField(ge=1, le=65535)]
PullPolicy: t.TypeAlias = t.Literal["Always", "IfNotPresent", "Never"]


class Port(Node):
    """A port that a container listens on."""

    number: PortNumber
    name: str | None = None
    protocol: t.Literal["TCP", "UDP", "SCTP"] = "TCP"
    host_port: PortNumber | None = None
    """Port of the node that leads to it."""
    host_ip: str | None = None


class Device(Node):
    """Where a container sees a volume of raw blocks."""

    volume: str
    path: str


class Resize(Node):
    """What happens when a running container is given more or less of a resource."""

    resource: t.Literal["cpu", "memory"]
    restart: bool = False


class RestartRule(Node):
    """Restart a container after some exit codes, whatever its restart policy."""

    exit_codes: t.Annotated[tuple[NonNegativeInt, ...], ModelField(min_length=1)]
    others: bool = False
    """Restart after all codes but these."""


class ContainerSettings(Node):
    """What a container is told besides what it runs.

    Probes, lifecycle and security context are objects of Kubernetes, as it writes them.
    """

    ports: tuple[Port, ...] = ()
    liveness_probe: JsonMap = FrozenDict()
    readiness_probe: JsonMap = FrozenDict()
    startup_probe: JsonMap = FrozenDict()
    lifecycle: JsonMap = FrozenDict()
    security_context: JsonMap = FrozenDict()
    restart_policy: t.Literal["Always", "OnFailure", "Never"] | None = None
    restart_rules: tuple[RestartRule, ...] = ()
    resize: tuple[Resize, ...] = ()
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    termination_message_path: str | None = None
    termination_message_policy: t.Literal["File", "FallbackToLogsOnError"] | None = None
    devices: tuple[Device, ...] = ()


class PodContainer(Node):
    """A container in the pod of a step: a sidecar beside it, or one that runs before it.

    Defaults of the workflow are for steps, not for these containers.
    """

    name: str
    image: str
    command: tuple[Text, ...] = ()
    args: tuple[Text, ...] = ()
    env: tuple[EnvVar, ...] = ()
    env_from: tuple[EnvFrom, ...] = ()
    mounts: tuple[Mount, ...] = ()
    mirror_mounts: bool = False
    """It also sees what the step sees: its volumes and its work folder."""
    resources: Resources | None = None
    working_dir: str | None = None
    pull_policy: PullPolicy | None = None
    settings: ContainerSettings | None = None
    depends_on: tuple[str, ...] = ()
    """In a container set: those that must have ended well before it starts."""


class HostAlias(Node):
    """Names of an address that no name server knows."""

    ip: str
    names: t.Annotated[tuple[str, ...], ModelField(min_length=1)]


class PodOptions(Node):
    """What one pod can be told, or all pods of a workflow."""

    service_account: str | None = None
    automount_service_account_token: bool | None = None
    executor_service_account: str | None = None
    """Account of the engine's own containers in the pod."""
    host_aliases: tuple[HostAlias, ...] = ()
    scheduler: str | None = None
    security_context: JsonMap = FrozenDict()
    resources: Resources | None = None
    """What all containers of a pod have together."""
    resource_claims: tuple[JsonMap, ...] = ()
    """Devices that are allocated for a pod, as Kubernetes writes its `resourceClaims`."""
    spec_patch: JsonMap = FrozenDict()
    """Merged into the specification of a pod, last."""


class StepPod(PodOptions):
    """What the pod of a step is told; it stands before what the workflow says."""

    pending_timeout_s: Positive | None = None
    """Bound of the time for which it may wait for a node."""
    timeout_s: Positive | None = None
    """Bound of an attempt with that time; a step's own `timeout_s` is without it."""


class Dns(Node):
    """Name resolution of the pods."""

    policy: str | None = None
    nameservers: tuple[str, ...] = ()
    searches: tuple[str, ...] = ()
    options: TextMap = FrozenDict()


class PodSettings(PodOptions):
    """What all pods of a workflow share."""

    image_pull_secrets: tuple[str, ...] = ()
    node_selector: TextMap = FrozenDict()
    tolerations: tuple[Toleration, ...] = ()
    affinity: JsonMap = FrozenDict()
    priority_class: str | None = None
    dns: Dns | None = None
    host_network: bool = False
    labels: TextMap = FrozenDict()
    annotations: TextMap = FrozenDict()


class DisruptionBudget(Node):
    """How many pods of a run an eviction must leave, or may take: a number, or a percentage."""

    min_available: NonNegativeInt | str | None = None
    max_unavailable: NonNegativeInt | str | None = None


class PodCleanup(Node):
    """When the pods of a run are deleted, and which of them."""

    when: t.Literal["pod_completion", "pod_success", "run_completion", "run_success"]
    labels: TextMap = FrozenDict()
    """Only pods with these labels."""
    delay_s: NonNegativeInt | None = None


class RunLabel(Node):
    """A label of the runs: text, or a value that is known when a run starts."""

    name: str
    value: Text


class Retention(Node):
    """Seconds after its end at which the engine may forget a run, by how the run ended."""

    after_success_s: NonNegativeInt | None = None
    after_failure_s: NonNegativeInt | None = None


class ExecutorPlugin(Node):
    """A container beside the engine's agent of a run that does the work of plugin steps."""

    name: str
    container: t.Annotated[PodContainer, At(scope="agent")]
    automount_service_account_token: bool = False


class RunSettings(Node):
    """What an engine of a cluster is told of the runs of a workflow."""

    priority: int | None = None
    """Among the runs that wait for the engine; the higher goes first."""
    labels: tuple[RunLabel, ...] = ()
    annotations: TextMap = FrozenDict()
    retention: Retention | None = None
    """Stands before the `keep_s` of the workflow."""
    disruption_budget: DisruptionBudget | None = None
    pod_cleanup: PodCleanup | None = None
    claim_cleanup: t.Literal["run_completion", "run_success"] | None = None
    """When claims that the run made are deleted."""
    plugins: tuple[ExecutorPlugin, ...] = ()
