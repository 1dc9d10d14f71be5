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
    from couler.argo_submitter import ArgoSubmitter as ArgoSubmitter
    from couler.dsl._prelude import Directory as Directory
    from couler.dsl._prelude import File as File
    from couler.dsl.ancestor import workflow as workflow
    from couler.dsl.ancestor import workflow_yaml as workflow_yaml
    from couler.dsl.artifacts import Artifact as Artifact
    from couler.dsl.artifacts import LocalArtifact as LocalArtifact
    from couler.dsl.artifacts import create_local_artifact as create_local_artifact
    from couler.dsl.artifacts import create_parameter_artifact as create_parameter_artifact
    from couler.dsl.calls import http as http
    from couler.dsl.calls import suspend as suspend
    from couler.dsl.cluster import call_template as call_template
    from couler.dsl.cluster import run_container_set as run_container_set
    from couler.dsl.cluster import run_plugin as run_plugin
    from couler.dsl.conditions import Condition as Condition
    from couler.dsl.conditions import bigger as bigger
    from couler.dsl.conditions import bigger_equal as bigger_equal
    from couler.dsl.conditions import equal as equal
    from couler.dsl.conditions import not_equal as not_equal
    from couler.dsl.conditions import smaller as smaller
    from couler.dsl.conditions import smaller_equal as smaller_equal
    from couler.dsl.control import concurrent as concurrent
    from couler.dsl.control import first_of as first_of
    from couler.dsl.control import group as group
    from couler.dsl.control import or_else as or_else
    from couler.dsl.control import text as text
    from couler.dsl.control import when as when
    from couler.dsl.dag import dag as dag
    from couler.dsl.dag import set_dependencies as set_dependencies
    from couler.dsl.edges import any_of as any_of
    from couler.dsl.edges import chain as chain
    from couler.dsl.edges import completion as completion
    from couler.dsl.edges import failure as failure
    from couler.dsl.handles import Value as Value
    from couler.dsl.hooks import OnState as OnState
    from couler.dsl.iteration import map as map
    from couler.dsl.jobs import Jq as Jq
    from couler.dsl.jobs import run_job as run_job
    from couler.dsl.listing import list_files as list_files
    from couler.dsl.locations import ArtifactoryArtifact as ArtifactoryArtifact
    from couler.dsl.locations import AzureArtifact as AzureArtifact
    from couler.dsl.locations import FileRemoval as FileRemoval
    from couler.dsl.locations import FileSettings as FileSettings
    from couler.dsl.locations import GcsArtifact as GcsArtifact
    from couler.dsl.locations import GitArtifact as GitArtifact
    from couler.dsl.locations import HdfsArtifact as HdfsArtifact
    from couler.dsl.locations import HttpArtifact as HttpArtifact
    from couler.dsl.locations import OAuth2 as OAuth2
    from couler.dsl.locations import OssArtifact as OssArtifact
    from couler.dsl.locations import PluginArtifact as PluginArtifact
    from couler.dsl.locations import RawArtifact as RawArtifact
    from couler.dsl.locations import S3Artifact as S3Artifact
    from couler.dsl.locations import S3Encryption as S3Encryption
    from couler.dsl.locations import create_oss_artifact as create_oss_artifact
    from couler.dsl.locations import create_s3_artifact as create_s3_artifact
    from couler.dsl.locks import Mutex as Mutex
    from couler.dsl.locks import Semaphore as Semaphore
    from couler.dsl.loops import exec_while as exec_while
    from couler.dsl.loops import loop as loop
    from couler.dsl.metrics import Counter as Counter
    from couler.dsl.metrics import Gauge as Gauge
    from couler.dsl.metrics import Histogram as Histogram
    from couler.dsl.objects import Cache as Cache
    from couler.dsl.objects import ConfigVolume as ConfigVolume
    from couler.dsl.objects import DnsConfig as DnsConfig
    from couler.dsl.objects import DnsConfigOption as DnsConfigOption
    from couler.dsl.objects import Gpu as Gpu
    from couler.dsl.objects import HostVolume as HostVolume
    from couler.dsl.objects import ImagePullSecret as ImagePullSecret
    from couler.dsl.objects import LocalForm as LocalForm
    from couler.dsl.objects import Parameter as Parameter
    from couler.dsl.objects import Retry as Retry
    from couler.dsl.objects import Schedule as Schedule
    from couler.dsl.objects import ScratchVolume as ScratchVolume
    from couler.dsl.objects import SecretVolume as SecretVolume
    from couler.dsl.objects import Toleration as Toleration
    from couler.dsl.objects import Volume as Volume
    from couler.dsl.objects import VolumeClaimTemplate as VolumeClaimTemplate
    from couler.dsl.objects import VolumeMount as VolumeMount
    from couler.dsl.own import own as own
    from couler.dsl.pods import ContainerSettings as ContainerSettings
    from couler.dsl.pods import Keep as Keep
    from couler.dsl.pods import PodContainer as PodContainer
    from couler.dsl.pods import PodSettings as PodSettings
    from couler.dsl.pods import Port as Port
    from couler.dsl.pods import RunSettings as RunSettings
    from couler.dsl.processes import run_container as run_container
    from couler.dsl.processes import run_script as run_script
    from couler.dsl.ranges import sequence as sequence
    from couler.dsl.secrets import Secret as Secret
    from couler.dsl.settings import WFStatus as WFStatus
    from couler.dsl.settings import add_image_pull_secret as add_image_pull_secret
    from couler.dsl.settings import add_toleration as add_toleration
    from couler.dsl.settings import config_defaults as config_defaults
    from couler.dsl.settings import config_workflow as config_workflow
    from couler.dsl.settings import create_secret as create_secret
    from couler.dsl.settings import get_secret as get_secret
    from couler.dsl.settings import get_step_output as get_step_output
    from couler.dsl.settings import obtain_secret as obtain_secret
    from couler.dsl.settings import set_dns as set_dns
    from couler.dsl.settings import set_exit_handler as set_exit_handler
    from couler.dsl.step import step as step
    from couler.dsl.step_options import ImagePullPolicy as ImagePullPolicy
    from couler.dsl.submit import Submitter as Submitter
    from couler.dsl.submit import run as run
    from couler.dsl.submit import set_default_submitter as set_default_submitter
    from couler.dsl.volumes import CsiVolume as CsiVolume
    from couler.dsl.volumes import EphemeralVolume as EphemeralVolume
    from couler.dsl.volumes import NfsVolume as NfsVolume
    from couler.dsl.volumes import ProjectedVolume as ProjectedVolume
    from couler.dsl.volumes import SourceVolume as SourceVolume
    from couler.dsl.volumes import add_volume as add_volume
    from couler.dsl.volumes import create_workflow_volume as create_workflow_volume
    from couler.dsl.workflow import StepDefaults as StepDefaults
    from couler.dsl.workflow import Workflow as Workflow
    from couler.errors import CoulerError as CoulerError
    from couler.errors import DefinitionError as DefinitionError
    from couler.generation.from_python import generate as generate
    from couler.generation.options import GenerateOptions as GenerateOptions
    from couler.steps.dataset import Dataset as Dataset
    from couler.submitters import AirflowSubmitter as AirflowSubmitter
    from couler.submitters import LocalSubmitter as LocalSubmitter
    from couler.submitters import SubmittedRun as SubmittedRun
    from couler.submitters import SubmittedSchedule as SubmittedSchedule

# Public name -> the module that defines it. Type checkers read the same names as
# `from module import X as X` under TYPE_CHECKING; tests/test_import.py holds the lists equal.
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
    "Directory": "couler.dsl._prelude",
    "DnsConfig": "couler.dsl.objects",
    "DnsConfigOption": "couler.dsl.objects",
    "EphemeralVolume": "couler.dsl.volumes",
    "File": "couler.dsl._prelude",
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
    "list_files": "couler.dsl.listing",
    "loop": "couler.dsl.loops",
    "map": "couler.dsl.iteration",
    "not_equal": "couler.dsl.conditions",
    "obtain_secret": "couler.dsl.settings",
    "or_else": "couler.dsl.control",
    "own": "couler.dsl.own",
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
