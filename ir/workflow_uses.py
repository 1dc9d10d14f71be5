"""Which features a workflow as a whole asks of an engine."""

from __future__ import annotations

from collections.abc import Callable

from couler.ir.features import Feature
from couler.ir.file_uses import add_file_settings_features
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
from couler.ir.value_uses import add_value_features
from couler.ir.walk import references
from couler.ir.workflow import Workflow

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
