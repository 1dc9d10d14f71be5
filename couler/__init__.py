"""Write a workflow once in Python; run it on this machine, or compile it for an engine."""

import typing as _t
from importlib import import_module as _import_module

__version__ = "0.1.0"

__all__ = [
    "AirflowSubmitter",
    "ArgoSubmitter",
    "Artifact",
    "ArtifactoryArtifact",
    "AzureArtifact",
    "Cache",
    "Condition",
    "ConfigVolume",
    "ContainerSettings",
    "CoulerError",
    "Counter",
    "CsiVolume",
    "Dataset",
    "DefinitionError",
    "Directory",
    "DnsConfig",
    "DnsConfigOption",
    "Elastic",
    "EphemeralVolume",
    "File",
    "FileRemoval",
    "FileSettings",
    "Gauge",
    "GcsArtifact",
    "GenerateOptions",
    "GitArtifact",
    "Gpu",
    "HdfsArtifact",
    "Histogram",
    "HostVolume",
    "HttpArtifact",
    "ImagePullPolicy",
    "ImagePullSecret",
    "Jq",
    "Keep",
    "LocalArtifact",
    "LocalForm",
    "LocalSubmitter",
    "Mutex",
    "NfsVolume",
    "OAuth2",
    "OnState",
    "OssArtifact",
    "Parameter",
    "PluginArtifact",
    "PodContainer",
    "PodSettings",
    "Port",
    "ProjectedVolume",
    "RawArtifact",
    "Retry",
    "RunSettings",
    "S3Artifact",
    "S3Encryption",
    "Schedule",
    "ScratchVolume",
    "Secret",
    "SecretVolume",
    "Semaphore",
    "SourceVolume",
    "StepDefaults",
    "SubmittedRun",
    "SubmittedSchedule",
    "Submitter",
    "Toleration",
    "Value",
    "Volume",
    "VolumeClaimTemplate",
    "VolumeMount",
    "WFStatus",
    "Workflow",
    "__version__",
    "add_image_pull_secret",
    "add_toleration",
    "add_volume",
    "any_of",
    "bigger",
    "bigger_equal",
    "call_template",
    "chain",
    "completion",
    "concurrent",
    "config_defaults",
    "config_workflow",
    "create_local_artifact",
    "create_oss_artifact",
    "create_parameter_artifact",
    "create_s3_artifact",
    "create_secret",
    "create_workflow_volume",
    "dag",
    "equal",
    "exec_while",
    "failure",
    "first_of",
    "generate",
    "get_secret",
    "get_step_output",
    "group",
    "http",
    "list_files",
    "loop",
    "map",
    "not_equal",
    "obtain_secret",
    "or_else",
    "own",
    "report_progress",
    "run",
    "run_container",
    "run_container_set",
    "run_job",
    "run_plugin",
    "run_script",
    "sequence",
    "set_default_submitter",
    "set_dependencies",
    "set_dns",
    "set_exit_handler",
    "smaller",
    "smaller_equal",
    "step",
    "suspend",
    "text",
    "when",
    "workflow",
    "workflow_yaml",
]

if _t.TYPE_CHECKING:
    from couler.argo_submitter import ArgoSubmitter
    from couler.cluster.elastic import Elastic
    from couler.dsl.ancestor import workflow, workflow_yaml
    from couler.dsl.artifacts import (
        Artifact,
        LocalArtifact,
        create_local_artifact,
        create_parameter_artifact,
    )
    from couler.dsl.calls import http, list_files, suspend
    from couler.dsl.cluster import call_template, run_container_set, run_plugin
    from couler.dsl.conditions import (
        Condition,
        bigger,
        bigger_equal,
        equal,
        not_equal,
        smaller,
        smaller_equal,
    )
    from couler.dsl.control import concurrent, first_of, group, or_else, text, when
    from couler.dsl.dag import dag, set_dependencies
    from couler.dsl.edges import any_of, chain, completion, failure
    from couler.dsl.handles import Value
    from couler.dsl.hooks import OnState
    from couler.dsl.iteration import map
    from couler.dsl.jobs import Jq, run_job
    from couler.dsl.locations import (
        ArtifactoryArtifact,
        AzureArtifact,
        FileRemoval,
        FileSettings,
        GcsArtifact,
        GitArtifact,
        HdfsArtifact,
        HttpArtifact,
        OAuth2,
        OssArtifact,
        PluginArtifact,
        RawArtifact,
        S3Artifact,
        S3Encryption,
        create_oss_artifact,
        create_s3_artifact,
    )
    from couler.dsl.locks import Mutex, Semaphore
    from couler.dsl.loops import exec_while, loop
    from couler.dsl.metrics import Counter, Gauge, Histogram
    from couler.dsl.objects import (
        Cache,
        ConfigVolume,
        DnsConfig,
        DnsConfigOption,
        Gpu,
        HostVolume,
        ImagePullSecret,
        LocalForm,
        Parameter,
        Retry,
        Schedule,
        ScratchVolume,
        SecretVolume,
        Toleration,
        Volume,
        VolumeClaimTemplate,
        VolumeMount,
    )
    from couler.dsl.own import own
    from couler.dsl.pods import (
        ContainerSettings,
        Keep,
        PodContainer,
        PodSettings,
        Port,
        RunSettings,
    )
    from couler.dsl.processes import run_container, run_script
    from couler.dsl.progress import report_progress
    from couler.dsl.ranges import sequence
    from couler.dsl.secrets import Secret
    from couler.dsl.settings import (
        WFStatus,
        add_image_pull_secret,
        add_toleration,
        config_defaults,
        config_workflow,
        create_secret,
        get_secret,
        get_step_output,
        obtain_secret,
        set_dns,
        set_exit_handler,
    )
    from couler.dsl.step import step
    from couler.dsl.step_options import ImagePullPolicy
    from couler.dsl.submit import Submitter, run, set_default_submitter
    from couler.dsl.types import Directory, File
    from couler.dsl.volumes import (
        CsiVolume,
        EphemeralVolume,
        NfsVolume,
        ProjectedVolume,
        SourceVolume,
        add_volume,
        create_workflow_volume,
    )
    from couler.dsl.workflow import StepDefaults, Workflow
    from couler.errors import CoulerError, DefinitionError
    from couler.generation.from_python import generate
    from couler.generation.options import GenerateOptions
    from couler.steps.dataset import Dataset
    from couler.submitters import AirflowSubmitter, LocalSubmitter, SubmittedRun, SubmittedSchedule

# Public name -> the module that defines it. Type checkers read the same names as
# `from module import X` under TYPE_CHECKING; tests/test_import.py holds the lists equal.
_EXPORTS: dict[str, str] = {
    "AirflowSubmitter": "couler.submitters",
    "ArgoSubmitter": "couler.argo_submitter",
    "Artifact": "couler.dsl.artifacts",
    "ArtifactoryArtifact": "couler.dsl.locations",
    "AzureArtifact": "couler.dsl.locations",
    "Cache": "couler.dsl.objects",
    "Condition": "couler.dsl.conditions",
    "ConfigVolume": "couler.dsl.objects",
    "ContainerSettings": "couler.dsl.pods",
    "CoulerError": "couler.errors",
    "Counter": "couler.dsl.metrics",
    "CsiVolume": "couler.dsl.volumes",
    "Dataset": "couler.steps.dataset",
    "DefinitionError": "couler.errors",
    "Directory": "couler.dsl.types",
    "DnsConfig": "couler.dsl.objects",
    "DnsConfigOption": "couler.dsl.objects",
    "Elastic": "couler.cluster.elastic",
    "EphemeralVolume": "couler.dsl.volumes",
    "File": "couler.dsl.types",
    "Gauge": "couler.dsl.metrics",
    "FileRemoval": "couler.dsl.locations",
    "FileSettings": "couler.dsl.locations",
    "GcsArtifact": "couler.dsl.locations",
    "GenerateOptions": "couler.generation.options",
    "GitArtifact": "couler.dsl.locations",
    "Gpu": "couler.dsl.objects",
    "Histogram": "couler.dsl.metrics",
    "HdfsArtifact": "couler.dsl.locations",
    "HostVolume": "couler.dsl.objects",
    "HttpArtifact": "couler.dsl.locations",
    "ImagePullPolicy": "couler.dsl.step_options",
    "ImagePullSecret": "couler.dsl.objects",
    "Jq": "couler.dsl.jobs",
    "Keep": "couler.dsl.pods",
    "LocalArtifact": "couler.dsl.artifacts",
    "LocalForm": "couler.dsl.objects",
    "LocalSubmitter": "couler.submitters",
    "Mutex": "couler.dsl.locks",
    "NfsVolume": "couler.dsl.volumes",
    "OnState": "couler.dsl.hooks",
    "OAuth2": "couler.dsl.locations",
    "OssArtifact": "couler.dsl.locations",
    "Parameter": "couler.dsl.objects",
    "PodContainer": "couler.dsl.pods",
    "PodSettings": "couler.dsl.pods",
    "Port": "couler.dsl.pods",
    "ProjectedVolume": "couler.dsl.volumes",
    "PluginArtifact": "couler.dsl.locations",
    "RawArtifact": "couler.dsl.locations",
    "Retry": "couler.dsl.objects",
    "RunSettings": "couler.dsl.pods",
    "S3Artifact": "couler.dsl.locations",
    "S3Encryption": "couler.dsl.locations",
    "Schedule": "couler.dsl.objects",
    "ScratchVolume": "couler.dsl.objects",
    "Secret": "couler.dsl.secrets",
    "SecretVolume": "couler.dsl.objects",
    "Semaphore": "couler.dsl.locks",
    "SourceVolume": "couler.dsl.volumes",
    "StepDefaults": "couler.dsl.workflow",
    "SubmittedRun": "couler.submitters",
    "SubmittedSchedule": "couler.submitters",
    "Submitter": "couler.dsl.submit",
    "Toleration": "couler.dsl.objects",
    "Value": "couler.dsl.handles",
    "Volume": "couler.dsl.objects",
    "VolumeClaimTemplate": "couler.dsl.objects",
    "VolumeMount": "couler.dsl.objects",
    "WFStatus": "couler.dsl.settings",
    "Workflow": "couler.dsl.workflow",
    "add_image_pull_secret": "couler.dsl.settings",
    "add_toleration": "couler.dsl.settings",
    "add_volume": "couler.dsl.volumes",
    "any_of": "couler.dsl.edges",
    "bigger": "couler.dsl.conditions",
    "bigger_equal": "couler.dsl.conditions",
    "call_template": "couler.dsl.cluster",
    "chain": "couler.dsl.edges",
    "completion": "couler.dsl.edges",
    "concurrent": "couler.dsl.control",
    "config_defaults": "couler.dsl.settings",
    "config_workflow": "couler.dsl.settings",
    "create_local_artifact": "couler.dsl.artifacts",
    "create_oss_artifact": "couler.dsl.locations",
    "create_parameter_artifact": "couler.dsl.artifacts",
    "create_s3_artifact": "couler.dsl.locations",
    "create_secret": "couler.dsl.settings",
    "create_workflow_volume": "couler.dsl.volumes",
    "dag": "couler.dsl.dag",
    "equal": "couler.dsl.conditions",
    "exec_while": "couler.dsl.loops",
    "failure": "couler.dsl.edges",
    "first_of": "couler.dsl.control",
    "generate": "couler.generation.from_python",
    "get_secret": "couler.dsl.settings",
    "get_step_output": "couler.dsl.settings",
    "group": "couler.dsl.control",
    "http": "couler.dsl.calls",
    "list_files": "couler.dsl.calls",
    "loop": "couler.dsl.loops",
    "map": "couler.dsl.iteration",
    "not_equal": "couler.dsl.conditions",
    "obtain_secret": "couler.dsl.settings",
    "or_else": "couler.dsl.control",
    "own": "couler.dsl.own",
    "report_progress": "couler.dsl.progress",
    "run": "couler.dsl.submit",
    "run_container": "couler.dsl.processes",
    "run_container_set": "couler.dsl.cluster",
    "run_job": "couler.dsl.jobs",
    "run_plugin": "couler.dsl.cluster",
    "sequence": "couler.dsl.ranges",
    "run_script": "couler.dsl.processes",
    "set_default_submitter": "couler.dsl.submit",
    "set_dependencies": "couler.dsl.dag",
    "set_dns": "couler.dsl.settings",
    "set_exit_handler": "couler.dsl.settings",
    "smaller": "couler.dsl.conditions",
    "smaller_equal": "couler.dsl.conditions",
    "step": "couler.dsl.step",
    "suspend": "couler.dsl.calls",
    "text": "couler.dsl.control",
    "when": "couler.dsl.control",
    "workflow": "couler.dsl.ancestor",
    "workflow_yaml": "couler.dsl.ancestor",
}


# Reachable for programs of the ancestor, but no part of the public names.
_ANCESTOR = {
    "CronWorkflowCRD": "couler.core.constants",
    "WorkflowCRD": "couler.core.constants",
    "_cleanup": "couler.dsl.settings",
    "delete": "couler.argo_submitter",
    "states": "couler.core",
    "validate_workflow_yaml": "couler.core.workflow_validation_utils",
}


def __getattr__(name: str) -> object:
    if name == "steps":  # the step zoo, a package that is loaded where it is asked for
        return _import_module("couler.steps")
    module = _EXPORTS.get(name) or _ANCESTOR.get(name)
    if module is None:
        from couler.dsl.absent import missing  # only now: it costs time, and is seldom needed

        raise missing(__name__, name)
    value = getattr(_import_module(module), name)
    globals()[name] = value  # the next access does not come back here
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTS})
