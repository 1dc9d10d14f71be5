"""Which features a workflow as a whole, its pods and their processes ask of an engine."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from couler.ir.artifacts import (
    ArtifactoryLocation,
    AzureLocation,
    FileSettings,
    GcsLocation,
    GitLocation,
    HdfsLocation,
    HttpLocation,
    Location,
    OssLocation,
    PluginLocation,
    RawLocation,
    S3Location,
)
from couler.ir.features import Feature
from couler.ir.pods import (
    ContainerSettings,
    PodContainer,
    PodOptions,
    PodSettings,
    RunSettings,
    StepPod,
)
from couler.ir.policies import Resources, lock_features, metric_features
from couler.ir.storage import (
    ClaimVolume,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EphemeralVolume,
    HostVolume,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretVolume,
    SourceVolume,
    Volume,
)
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    walk,
)
from couler.ir.walk import locations, pod_containers, references
from couler.ir.workflow import ContainerSet, Step, Workflow

_KINDS: dict[type[Location], Feature] = {
    S3Location: Feature.FILE_S3,
    OssLocation: Feature.FILE_OSS,
    GcsLocation: Feature.FILE_GCS,
    HdfsLocation: Feature.FILE_HDFS,
    GitLocation: Feature.FILE_GIT,
    AzureLocation: Feature.FILE_AZURE,
    HttpLocation: Feature.FILE_HTTP,
    ArtifactoryLocation: Feature.FILE_ARTIFACTORY,
    RawLocation: Feature.FILE_RAW,
    PluginLocation: Feature.FILE_PLUGIN,
}

_KERBEROS = tuple(name for name in HdfsLocation.model_fields if name.startswith("kerberos_"))


def add_file_features(step: Step, add: Callable[[Feature], object]) -> None:
    """Add what the files of a step and its log ask of an engine."""
    for given in step.inputs:
        if given.at is not None:
            add(Feature.FILE_IN)
        if given.archive is not None:
            add(Feature.FILE_ARCHIVE)
        if given.optional:
            add(Feature.FILE_OPTIONAL)
        if given.mode is not None:
            add(Feature.FILE_MODE)
    for output in step.outputs:
        if output.at is not None:
            add(Feature.FILE_OUT)
        if output.archive is not None:
            add(Feature.FILE_ARCHIVE)
        if output.optional:
            add(Feature.FILE_OPTIONAL)
        if output.removal is not None:
            add(Feature.FILE_REMOVAL)
    for location in locations(step):
        add(_KINDS[type(location)])
        if isinstance(location, OssLocation) and _rules_bucket(location):
            add(Feature.FILE_OSS_BUCKET)
        if isinstance(location, HdfsLocation) and _is_secured(location):
            add(Feature.FILE_HDFS_KERBEROS)
    if step.logs is not None:
        add(Feature.KEEP_LOGS)
        if step.logs.at is not None:
            add(Feature.LOG_LOCATION)


def _rules_bucket(location: OssLocation) -> bool:
    """Return whether a location makes a bucket, or says how long its objects stay."""
    days = (location.delete_after_days, location.infrequent_access_after_days)
    return bool(location.create_bucket) or any(one is not None for one in days)


def _is_secured(location: HdfsLocation) -> bool:
    fields = (*_KERBEROS, "data_transfer_protection")
    return any(getattr(location, name) is not None for name in fields)


def add_file_settings_features(files: FileSettings, add: Callable[[Feature], object]) -> None:
    """Add what a workflow's settings of files ask of an engine."""
    if files.repository is not None:
        add(Feature.FILE_REPOSITORY)
    if files.removal is not None:
        add(Feature.FILE_REMOVAL)
    if files.keep_logs is not None:
        add(Feature.KEEP_LOGS)


_WITHOUT_FEATURES = frozenset((Literal, ParamRef, StepRef, ItemRef))


def add_value_features(value: Value, add: Callable[[Feature], object]) -> None:
    """Add the features of a value and of those inside it."""
    if type(value) in _WITHOUT_FEATURES:  # most are: an isinstance that says no takes longer
        return
    for inner in walk(value):
        match inner:
            case Field():
                add(Feature.FIELD)
            case OrElse():
                add(Feature.OR_ELSE)
            case FirstOf():
                add(Feature.FIRST_OF)
            case Range():
                add(Feature.RANGE)
            case Template():
                add(Feature.TEMPLATE)
            case RunRef(field="id"):
                add(Feature.RUN_ID)
            case RunRef(field="logical_date"):
                add(Feature.RUN_LOGICAL_DATE)
            case RunRef():
                add(Feature.RUN_STATUS)
            case Literal() | ParamRef() | StepRef() | ItemRef() | RoundRef() | OwnRef():
                pass
            case _:
                t.assert_never(inner)


Add = Callable[[Feature], object]

_VOLUME_FEATURES: dict[type[Volume], Feature] = {
    ClaimVolume: Feature.VOLUME_CLAIM,
    NewClaimVolume: Feature.VOLUME_NEW_CLAIM,
    EmptyVolume: Feature.VOLUME_EMPTY,
    SecretVolume: Feature.VOLUME_SECRET,
    ConfigVolume: Feature.VOLUME_CONFIG,
    HostVolume: Feature.VOLUME_HOST,
    NfsVolume: Feature.VOLUME_NFS,
    CsiVolume: Feature.VOLUME_CSI,
    EphemeralVolume: Feature.VOLUME_EPHEMERAL,
    ProjectedVolume: Feature.VOLUME_PROJECTED,
    SourceVolume: Feature.VOLUME_SOURCE,
}


def add_workflow_features(workflow: Workflow, add: Add) -> None:
    """Add the features of a workflow without those of its steps."""
    if workflow.parameters:
        add(Feature.PARAMETER)
        if any(parameter.config is not None for parameter in workflow.parameters):
            add(Feature.PARAMETER_CONFIG)
    if workflow.stored is not None:
        add(Feature.STORED_WORKFLOW)
    for handler in workflow.exit_handlers:
        add(Feature.EXIT_HANDLER)
        own = {step.name for step in handler.steps}
        if any(read.step not in own for step in handler.steps for read in references(step)):
            add(Feature.EXIT_HANDLER_READS_OUTPUT)
    for output in workflow.outputs:
        add(Feature.WORKFLOW_OUTPUT)
        if output.value is not None:
            add_value_features(output.value, add)
    if workflow.schedule is not None:
        add(Feature.SCHEDULE)
        if (
            workflow.schedule.keep_succeeded is not None
            or workflow.schedule.keep_failed is not None
        ):
            add(Feature.KEEP)
        if len(workflow.schedule.cron) > 1:
            add(Feature.SCHEDULE_SEVERAL)
        if workflow.schedule.min_gap_s is not None:
            add(Feature.SCHEDULE_GAP)
        if workflow.schedule.stop_after_succeeded or workflow.schedule.stop_after_failed:
            add(Feature.SCHEDULE_STOP)
    for volume in workflow.volumes:
        add(_VOLUME_FEATURES[type(volume)])
    if workflow.pod is not None:
        add_settings_features(workflow.pod, add)
    if workflow.runs is not None:
        add_run_features(workflow.runs, add)
        for label in workflow.runs.labels:
            if not isinstance(label.value, str):
                add_value_features(label.value, add)
    if workflow.timeout_s is not None:
        add(Feature.WORKFLOW_TIMEOUT)
    if workflow.keep_s is not None:
        add(Feature.KEEP)
    if workflow.max_parallel is not None:
        add(Feature.MAX_PARALLEL)
    for metric in workflow.metrics:
        add(Feature.WORKFLOW_METRIC)
        for feature in metric_features(metric):
            add(feature)
    if workflow.hooks:
        add(Feature.WORKFLOW_HOOK)
    if workflow.suspended:
        add(Feature.SUSPENDED)
    for lock in workflow.locks:
        add(Feature.WORKFLOW_LOCK)
        for feature in lock_features(lock):
            add(feature)
    if workflow.files is not None:
        add_file_settings_features(workflow.files, add)
    if workflow.labels or workflow.annotations:
        add(Feature.LABELS)
    if workflow.engine:
        add(Feature.ENGINE_OVERRIDES)


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
