"""Which features the settings of pods and of runs are."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from couler.ir.actions import ContainerSet
from couler.ir.features import Feature
from couler.ir.pods import (
    ContainerSettings,
    PodContainer,
    PodOptions,
    PodSettings,
    RunSettings,
    StepPod,
)
from couler.ir.policies import Resources
from couler.ir.walk import pod_containers
from couler.ir.workflow import Step

Add = Callable[[Feature], object]

_OF_PROCESS = frozenset(
    (
        "resources",
        "placement",
        "env",
        "env_from",
        "sidecars",
        "init_containers",
        "container",
        "pod",
        "display_name",
        "working_dir",
        "pull_policy",
        "labels",
        "annotations",
    )
)
"""The fields of a step that `add_process_features` looks at."""


def add_container_features(settings: ContainerSettings, add: Add) -> None:
    """Add the features that settings of a container are."""
    _add_present(
        {
            Feature.CONTAINER_PORTS: settings.ports,
            Feature.CONTAINER_PROBES: settings.liveness_probe or settings.startup_probe,
            Feature.READINESS_PROBE: settings.readiness_probe,
            Feature.CONTAINER_LIFECYCLE: settings.lifecycle,
            Feature.CONTAINER_SECURITY_CONTEXT: settings.security_context,
            Feature.CONTAINER_RESTART: settings.restart_policy or settings.restart_rules,
            Feature.CONTAINER_RESIZE: settings.resize,
            Feature.CONTAINER_STDIN: settings.stdin or settings.stdin_once or settings.tty,
            Feature.TERMINATION_MESSAGE: settings.termination_message_path
            or settings.termination_message_policy,
            Feature.VOLUME_DEVICES: settings.devices,
        },
        add,
    )


def add_step_pod_features(pod: StepPod, add: Add) -> None:
    """Add the features that settings of the pod of one step are."""
    add_pod_features(pod, add)
    _add_present(
        {
            Feature.POD_TIMEOUT: pod.timeout_s is not None,
            Feature.PENDING_TIMEOUT: pod.pending_timeout_s is not None,
        },
        add,
    )


def add_pod_features(pod: PodOptions, add: Add) -> None:
    """Add the features that settings of a pod are."""
    account = pod.service_account or pod.executor_service_account
    _add_present(
        {
            Feature.SERVICE_ACCOUNT: account or pod.automount_service_account_token is not None,
            Feature.HOST_ALIASES: pod.host_aliases,
            Feature.SCHEDULER: pod.scheduler,
            Feature.SECURITY_CONTEXT: pod.security_context,
            Feature.POD_RESOURCES: pod.resources,
            Feature.RESOURCE_CLAIMS: pod.resource_claims,
            Feature.POD_SPEC_PATCH: pod.spec_patch,
        },
        add,
    )


def add_settings_features(pod: PodSettings, add: Add) -> None:
    """Add the features that settings of all pods of a workflow are."""
    add_pod_features(pod, add)
    _add_present(
        {
            Feature.IMAGE_PULL_SECRETS: pod.image_pull_secrets,
            Feature.POD_PLACEMENT: pod.node_selector or pod.tolerations,
            Feature.AFFINITY: pod.affinity,
            Feature.PRIORITY_CLASS: pod.priority_class,
            Feature.DNS: pod.dns,
            Feature.HOST_NETWORK: pod.host_network,
            Feature.POD_LABELS: pod.labels or pod.annotations,
        },
        add,
    )


def add_run_features(runs: RunSettings, add: Add) -> None:
    """Add the features that settings of runs are."""
    _add_present(
        {
            Feature.RUN_PRIORITY: runs.priority is not None,
            Feature.RUN_LABELS: runs.labels or runs.annotations,
            Feature.KEEP: runs.retention,
            Feature.DISRUPTION_BUDGET: runs.disruption_budget,
            Feature.POD_CLEANUP: runs.pod_cleanup,
            Feature.CLAIM_CLEANUP: runs.claim_cleanup,
            Feature.EXECUTOR_PLUGIN: runs.plugins,
        },
        add,
    )


def add_process_features(step: Step, add: Add) -> None:
    """Add the features of the pod in which a step runs: all its containers, and its place."""
    if not (step.gives(_OF_PROCESS) or isinstance(step.action, ContainerSet)):
        return
    if step.resources is not None:
        _add_resource_features(step.resources, add)
    placement = step.placement
    if placement is not None:
        present = {
            Feature.NODE_SELECTOR: placement.node_selector,
            Feature.TOLERATIONS: placement.tolerations,
            Feature.AFFINITY: placement.affinity,
            Feature.PRIORITY_CLASS: placement.priority_class,
            Feature.STEP_PRIORITY: placement.priority is not None,
        }
        for feature, value in present.items():
            if value:
                add(feature)
    containers = pod_containers(step)
    _add_environment_features(step, add)
    for container in containers:
        _add_environment_features(container, add)
        if not container.command:
            add(Feature.IMAGE_ENTRYPOINT)
        if container.resources is not None:
            _add_resource_features(container.resources, add)
        if container.working_dir is not None:
            add(Feature.WORKING_DIR)
        if container.pull_policy is not None:
            add(Feature.PULL_POLICY)
    if step.sidecars:
        add(Feature.SIDECAR)
    if step.init_containers:
        add(Feature.INIT_CONTAINER)
    for settings in (step.container, *(one.settings for one in containers)):
        if settings is not None:
            add_container_features(settings, add)
    if step.pod is not None:
        add_step_pod_features(step.pod, add)
    if step.display_name is not None:
        add(Feature.DISPLAY_NAME)
    if step.working_dir is not None:
        add(Feature.WORKING_DIR)
    if step.pull_policy is not None:
        add(Feature.PULL_POLICY)
    if step.labels or step.annotations:
        add(Feature.POD_LABELS)


def _add_environment_features(source: Step | PodContainer, add: Add) -> None:
    for variable in source.env:
        if variable.secret is not None:
            add(Feature.SECRET_ENV)
        elif variable.config is not None:
            add(Feature.CONFIG_ENV)
        else:
            add(Feature.ENV)
    if source.env_from:
        add(Feature.ENV_FROM)


def _add_resource_features(resources: Resources, add: Add) -> None:
    if resources.model_copy(update={"gpu": None}) != Resources():
        add(Feature.RESOURCES)
    if resources.gpu is not None:
        add(Feature.GPU)
        if resources.gpu.type is not None:
            add(Feature.GPU_TYPE)


def _add_present(present: Mapping[Feature, object], add: Add) -> None:
    for feature, value in present.items():
        if value:
            add(feature)
