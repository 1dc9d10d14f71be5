"""Which features a workflow as a whole asks of an engine."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

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
from couler.ir.locks import lock_features
from couler.ir.metrics import metric_features
from couler.ir.pod_uses import add_run_features, add_settings_features
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
from couler.ir.walk import locations, references
from couler.ir.workflow import Step, Workflow

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
