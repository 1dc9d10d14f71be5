"""Which features the files of a step and of a workflow use."""

from __future__ import annotations

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
from couler.ir.walk import locations
from couler.ir.workflow import Step

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
