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
    if step.logs is not None:
        add(Feature.KEEP_LOGS)
        if step.logs.at is not None:
            add(Feature.LOG_LOCATION)


def add_file_settings_features(files: FileSettings, add: Callable[[Feature], object]) -> None:
    """Add what a workflow's settings of files ask of an engine."""
    if files.repository is not None:
        add(Feature.FILE_REPOSITORY)
    if files.removal is not None:
        add(Feature.FILE_REMOVAL)
    if files.keep_logs is not None:
        add(Feature.KEEP_LOGS)
