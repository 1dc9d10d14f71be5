"""Settings of pods as programs write them: containers, accounts, networks, clean-up."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from couler.dsl import objects

Object: t.TypeAlias = Mapping[str, object]
"""An object as Kubernetes writes it, such as `{"runAsUser": 1000}`."""


@dataclass(frozen=True, slots=True)
class Port:
    """A port that a container listens on.

    Attributes
    ----------
    number
        From 1 to 65535.
    name
        By which probes can name it; at most 15 characters.
    protocol
        `TCP`, `UDP` or `SCTP`.
    host_port, host_ip
        Port and address of the node that lead to it.
    """

    number: int
    name: str | None = None
    protocol: t.Literal["TCP", "UDP", "SCTP"] = "TCP"
    host_port: int | None = None
    host_ip: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerSettings:
    """What a container is told besides what it runs.

    Attributes
    ----------
    ports
        Numbers, or `Port`.
    liveness_probe, readiness_probe, startup_probe, lifecycle, security_context
        As Kubernetes writes them, such as `{"tcpSocket": {"port": 5432}}`.
    restart_policy
        `Always`, `OnFailure` or `Never`; `Always` for an init container that runs beside the step.
    restart_on, restart_unless
        Restart after these exit codes, or after all but these, whatever the policy.
    resize
        By resource (`cpu`, `memory`) whether the container is restarted when it gets more or less.
    stdin, stdin_once, tty
        Keep the standard input open, for one client only; give it a terminal.
    termination_message_path, termination_message_policy
        Where the message about its end is read.
    devices
        Path of a device by the name of the volume that it shows.
    """

    ports: Sequence[int | Port] = ()
    liveness_probe: Object | None = None
    readiness_probe: Object | None = None
    startup_probe: Object | None = None
    lifecycle: Object | None = None
    security_context: Object | None = None
    restart_policy: t.Literal["Always", "OnFailure", "Never"] | None = None
    restart_on: Sequence[int] = ()
    restart_unless: Sequence[int] = ()
    resize: Mapping[str, bool] | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False
    termination_message_path: str | None = None
    termination_message_policy: t.Literal["File", "FallbackToLogsOnError"] | None = None
    devices: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class PodContainer:
    """A container in the pod of a step, beside it (`sidecars=`) or before it (`init_containers=`).

    Attributes
    ----------
    name
        Lower-case letters, digits and `-`.
    image
        The image.
    command, args
        The program and its arguments: text, numbers and values of the workflow.
    env, env_from, secret
        Its environment, as for `run_container`.
    cpu, memory, disk, gpu, resources
        What it asks for, as for `run_container`.
    volume_mounts
        Where it sees volumes.
    mirror_mounts
        It also sees what the step sees: volumes, and the work folder as `COULER_WORK`.
    working_dir
        Where it runs: an absolute path.
    image_pull_policy
        As in a pod.
    settings
        Ports, probes and the like.
    depends_on
        In `run_container_set`: names of those that must have ended well before.
    """

    name: str
    image: str
    command: str | Sequence[object] | None = None
    args: object = None
    env: Mapping[str, object] | None = None
    env_from: t.Any = None
    secret: str | Sequence[str] | None = None
    cpu: int | float | str | None = None
    memory: int | float | str | None = None
    disk: int | float | str | None = None
    gpu: int | objects.Gpu | None = None
    resources: Mapping[str, object] | None = None
    volume_mounts: Sequence[objects.VolumeMount] = ()
    mirror_mounts: bool = False
    working_dir: str | None = None
    image_pull_policy: str | None = None
    settings: ContainerSettings | None = None
    depends_on: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class PodSettings:
    """What pods are told: those of a step (`pod=` of a step), or all of a workflow.

    Attributes
    ----------
    service_account
        Account of the cluster that the pod runs as.
    automount_service_account_token
        Whether its containers see the token of that account.
    executor_service_account
        Account of the engine's own containers in the pod.
    host_aliases
        Address of a host, or a list of such addresses, by name.
    scheduler
        Name of the scheduler that chooses the node.
    security_context
        Of the pod as a whole, as Kubernetes writes it.
    cpu, memory
        What all containers of the pod have together.
    resource_claims
        Devices that are allocated for the pod, as Kubernetes writes its `resourceClaims`.
    spec_patch
        Merged into the specification of the pod, last.
    pending_timeout, timeout
        Of a step's pod only: how long it may wait for a node, and how long an attempt may take
        with that.
    image_pull_secrets, node_selector, tolerations, affinity, priority_class, dns_policy, dns, \
    host_network, labels, annotations
        For all pods of a workflow only; steps have options for most of them.
    """

    service_account: str | None = None
    automount_service_account_token: bool | None = None
    executor_service_account: str | None = None
    host_aliases: Mapping[str, str | Sequence[str]] | None = None
    scheduler: str | None = None
    security_context: Object | None = None
    cpu: int | float | str | None = None
    memory: int | float | str | None = None
    resource_claims: Sequence[Object] = ()
    spec_patch: Object | None = None
    pending_timeout: objects.Duration | None = None
    timeout: objects.Duration | None = None
    image_pull_secrets: Sequence[str] = ()
    node_selector: Mapping[str, str] | None = None
    tolerations: Sequence[objects.Toleration] = ()
    affinity: Object | None = None
    priority_class: str | None = None
    dns_policy: str | None = None
    dns: objects.DnsConfig | None = None
    host_network: bool = False
    labels: Mapping[str, str] | None = None
    annotations: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Keep:
    """How long after its end the engine keeps a run: seconds, or text such as `"7d"`.

    Attributes
    ----------
    after
        However it ended.
    after_success, after_failure
        By how it ended; they stand before `after`.
    """

    after: objects.Duration | None = None
    after_success: objects.Duration | None = None
    after_failure: objects.Duration | None = None


Cleanup: t.TypeAlias = t.Literal["pod_completion", "pod_success", "run_completion", "run_success"]


@dataclass(frozen=True, slots=True)
class RunSettings:
    """What an engine of a cluster is told of the runs of a workflow.

    Attributes
    ----------
    priority
        Among the runs that wait for the engine; the higher goes first.
    min_available, max_unavailable
        How many pods an eviction must leave, or may take: a number, or a percentage (`"50%"`).
    delete_pods
        When pods are deleted: each after its end (`pod_completion`) or good end (`pod_success`), or
        all after that of the run (`run_completion`, `run_success`).
    delete_pods_with
        Delete only pods with these labels.
    delete_pods_after
        How long to wait before: seconds, or text such as `"10m"`.
    delete_claims
        When volume claims that the run made are deleted: `run_completion` or `run_success`.
    plugins
        Containers beside the engine's agent that do the work of plugin steps, by the names of the
        plugins; each declares the port that it listens on.
    plugins_with_token
        Names of the plugins that are given the token of the agent's account.
    """

    priority: int | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None
    delete_pods: Cleanup | None = None
    delete_pods_with: Mapping[str, str] | None = None
    delete_pods_after: objects.Duration | None = None
    delete_claims: t.Literal["run_completion", "run_success"] | None = None
    plugins: Mapping[str, PodContainer] | None = None
    plugins_with_token: Sequence[str] = ()
