"""What a workflow uses: features of the IR, and objects that must exist where it runs."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from couler.ir import artifacts, pods, policies, storage, values
from couler.ir.base import FrozenDict, Node
from couler.ir.defaults import local_form
from couler.ir.features import Feature
from couler.ir.traversal import ByFields, Traversal
from couler.ir.values import ROUNDS, is_file
from couler.ir.walk import (
    Scope,
    ScopeKey,
    all_steps,
    explicit_dependencies,
    references,
    scopes,
)
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Group,
    Http,
    Input,
    Job,
    Output,
    Parameter,
    Plugin,
    Schedule,
    Script,
    Step,
    Suspend,
    TemplateCall,
    Workflow,
)


class _ByValue(t.NamedTuple):
    """The features that a value can ask for, and what says which of them it does."""

    features: frozenset[Feature]
    of: Callable[[t.Any], Iterable[Feature]]


def _by_value(*features: Feature) -> Callable[[Callable[[t.Any], Iterable[Feature]]], _ByValue]:
    return functools.partial(_ByValue, frozenset(features))


_Entry: t.TypeAlias = Feature | dict[t.Any, Feature] | _ByValue
"""The feature of a field that differs from its default, or features by the value of the field."""


@_by_value(Feature.SECRET_ENV, Feature.ENV, Feature.CONFIG_ENV)
def _of_environment(variables: Iterable[storage.EnvVar]) -> Iterator[Feature]:
    for one in variables:
        if one.secret is not None:
            yield Feature.SECRET_ENV
        else:
            yield Feature.ENV if one.config is None else Feature.CONFIG_ENV


@_by_value(Feature.RESOURCES, Feature.GPU, Feature.GPU_TYPE)
def _of_resources(resources: policies.Resources) -> Iterator[Feature]:
    if resources.model_copy(update={"gpu": None}) != policies.Resources():
        yield Feature.RESOURCES
    if resources.gpu is not None:
        yield Feature.GPU
        if resources.gpu.type is not None:
            yield Feature.GPU_TYPE


@_by_value(
    *(Feature.RETRY, Feature.RETRY_EXIT_CODES, Feature.RETRY_BACKOFF, Feature.RETRY_MAX_DURATION),
    *(Feature.RETRY_OTHER_NODE, Feature.RETRY_TRANSIENT, Feature.RETRY_ON_ONE_KIND),
)
def _of_retry(retry: policies.Retry) -> Iterator[Feature]:
    if retry.limit:
        yield Feature.RETRY
        backoff = retry.backoff
        yield from _holding(
            {
                Feature.RETRY_EXIT_CODES: retry.exit_codes,
                Feature.RETRY_BACKOFF: backoff is not None,
                Feature.RETRY_MAX_DURATION: backoff is not None and backoff.max_duration_s,
                Feature.RETRY_OTHER_NODE: retry.other_node,
                Feature.RETRY_TRANSIENT: "transient" in retry.on,
                Feature.RETRY_ON_ONE_KIND: "transient" not in retry.on and len({*retry.on}) == 1,
            }
        )


def _holding(present: Mapping[Feature, object]) -> Iterator[Feature]:
    return (feature for feature, holds in present.items() if holds)


_KEPT: Mapping[str, _Entry] = {
    "archive": Feature.FILE_ARCHIVE,
    "optional": Feature.FILE_OPTIONAL,
}
_PROCESS: Mapping[str, _Entry] = {
    "env": _of_environment,
    "env_from": Feature.ENV_FROM,
    "resources": _of_resources,
    "working_dir": Feature.WORKING_DIR,
    "pull_policy": Feature.PULL_POLICY,
}
_NAMESPACE: Mapping[str, _Entry] = {"namespace": Feature.LOCK_NAMESPACE}


@_by_value(Feature.IMAGE_ENTRYPOINT)
def _of_command(process: t.Any) -> Iterable[Feature]:
    return () if process.command else (Feature.IMAGE_ENTRYPOINT,)


@_by_value(Feature.CONTAINER, Feature.IMAGE_ENTRYPOINT)
def _of_container(container: Container) -> Iterable[Feature]:
    return Feature.CONTAINER, *_of_command.of(container)


ITSELF = ""
"""Stands in the table for a node as such, whatever its fields are."""

FEATURES: dict[type[Node], Mapping[str, _Entry]] = {
    Workflow: {
        "parameters": Feature.PARAMETER,
        "stored": Feature.STORED_WORKFLOW,
        "exit_handlers": Feature.EXIT_HANDLER,
        "outputs": Feature.WORKFLOW_OUTPUT,
        "schedule": Feature.SCHEDULE,
        "timeout_s": Feature.WORKFLOW_TIMEOUT,
        "keep_s": Feature.KEEP,
        "max_parallel": Feature.MAX_PARALLEL,
        "metrics": Feature.WORKFLOW_METRIC,
        "hooks": Feature.WORKFLOW_HOOK,
        "suspended": Feature.SUSPENDED,
        "locks": Feature.WORKFLOW_LOCK,
        "labels": Feature.LABELS,
        "annotations": Feature.LABELS,
        "engine": Feature.ENGINE_OVERRIDES,
    },
    Parameter: {"config": Feature.PARAMETER_CONFIG},
    Schedule: {
        "keep_succeeded": Feature.KEEP,
        "keep_failed": Feature.KEEP,
        "cron": _by_value(Feature.SCHEDULE_SEVERAL)(
            lambda cron: (Feature.SCHEDULE_SEVERAL,) if len(cron) > 1 else ()
        ),
        "min_gap_s": Feature.SCHEDULE_GAP,
        "stop_after_succeeded": Feature.SCHEDULE_STOP,
        "stop_after_failed": Feature.SCHEDULE_STOP,
    },
    artifacts.FileSettings: {
        "repository": Feature.FILE_REPOSITORY,
        "removal": Feature.FILE_REMOVAL,
        "keep_logs": Feature.KEEP_LOGS,
    },
    pods.RunSettings: {
        "priority": Feature.RUN_PRIORITY,
        "labels": Feature.RUN_LABELS,
        "annotations": Feature.RUN_LABELS,
        "retention": Feature.KEEP,
        "disruption_budget": Feature.DISRUPTION_BUDGET,
        "pod_cleanup": Feature.POD_CLEANUP,
        "claim_cleanup": Feature.CLAIM_CLEANUP,
        "plugins": Feature.EXECUTOR_PLUGIN,
    },
    Step: {
        "when": Feature.WHEN,
        "foreach": Feature.FOREACH,
        "loop": Feature.LOOP,
        "daemon": Feature.DAEMON,
        "metrics": Feature.METRIC,
        "hooks": Feature.HOOK,
        "retry": _of_retry,
        "cache": Feature.CACHE,
        "mutex": Feature.MUTEX,
        "max_parallel": Feature.MAX_PARALLEL_GROUP,
        "engine": Feature.ENGINE_OVERRIDES,
        "logs": Feature.KEEP_LOGS,
        "sidecars": Feature.SIDECAR,
        "init_containers": Feature.INIT_CONTAINER,
        "display_name": Feature.DISPLAY_NAME,
        "labels": Feature.POD_LABELS,
        "annotations": Feature.POD_LABELS,
        **_PROCESS,
    },
    Container: {ITSELF: _of_container},
    Script: {ITSELF: Feature.SCRIPT, "packages": Feature.PACKAGES, "files": Feature.CODE_FILES},
    Job: {
        ITSELF: _by_value(Feature.JOB, Feature.JOB_LOCAL_FORM)(
            lambda job: (Feature.JOB if job.local is None else Feature.JOB_LOCAL_FORM,)
        ),
        "values": Feature.JOB_VALUES,
        "flags": Feature.JOB_FLAGS,
        "merge_strategy": Feature.JOB_MERGE_STRATEGY,
        "manifest_from": Feature.JOB_MANIFEST_FROM,
    },
    Http: {
        ITSELF: Feature.HTTP,
        "body_base64": Feature.HTTP_BODY_BYTES,
        "success_condition": Feature.HTTP_SUCCESS_CONDITION,
        "verify_tls": Feature.HTTP_UNVERIFIED,
    },
    Suspend: {
        ITSELF: _by_value(Feature.SUSPEND, Feature.SUSPEND_SECONDS)(
            lambda one: (Feature.SUSPEND if one.seconds is None else Feature.SUSPEND_SECONDS,)
        )
    },
    artifacts.ListFiles: {ITSELF: Feature.LIST_FILES},
    ContainerSet: {ITSELF: Feature.CONTAINER_SET},
    TemplateCall: {ITSELF: Feature.TEMPLATE_CALL},
    Plugin: {ITSELF: Feature.PLUGIN},
    Group: {ITSELF: Feature.GROUP},
    policies.AnyOf: {ITSELF: Feature.DEPENDS_ON_ANY},
    policies.Dependency: {
        "on": {
            "failure": Feature.DEPENDS_ON_FAILURE,
            "completion": Feature.DEPENDS_ON_COMPLETION,
        }
    },
    policies.Foreach: {"max_parallel": Feature.FOREACH_MAX_PARALLEL},
    policies.Cache: {"max_age_s": Feature.CACHE_MAX_AGE},
    policies.Part: {"group": Feature.PART, "run": Feature.PART_RUN},
    policies.Gauge: {"realtime": Feature.METRIC_REALTIME},
    policies.Mutex: {
        ITSELF: _by_value(Feature.MUTEX, Feature.MUTEX_DATABASE)(
            lambda lock: (Feature.MUTEX_DATABASE if lock.database else Feature.MUTEX,)
        ),
        **_NAMESPACE,
    },
    policies.Semaphore: {ITSELF: Feature.SEMAPHORE, **_NAMESPACE},
    policies.DatabaseSemaphore: {ITSELF: Feature.SEMAPHORE_DATABASE, **_NAMESPACE},
    policies.Placement: {
        "node_selector": Feature.NODE_SELECTOR,
        "tolerations": Feature.TOLERATIONS,
        "affinity": Feature.AFFINITY,
        "priority_class": Feature.PRIORITY_CLASS,
        "priority": Feature.STEP_PRIORITY,
    },
    Input: {
        "type": {"file": Feature.FILE, "directory": Feature.DIRECTORY},
        "at": Feature.FILE_IN,
        "mode": Feature.FILE_MODE,
        **_KEPT,
    },
    Output: {"at": Feature.FILE_OUT, "removal": Feature.FILE_REMOVAL, **_KEPT},
    artifacts.LogSettings: {"at": Feature.LOG_LOCATION},
    artifacts.S3Location: {ITSELF: Feature.FILE_S3},
    artifacts.OssLocation: {
        ITSELF: Feature.FILE_OSS,
        "create_bucket": {True: Feature.FILE_OSS_BUCKET},
        "delete_after_days": Feature.FILE_OSS_BUCKET,
        "infrequent_access_after_days": Feature.FILE_OSS_BUCKET,
    },
    artifacts.GcsLocation: {ITSELF: Feature.FILE_GCS},
    artifacts.HdfsLocation: {
        ITSELF: Feature.FILE_HDFS,
        "data_transfer_protection": Feature.FILE_HDFS_KERBEROS,
        "kerberos_cache": Feature.FILE_HDFS_KERBEROS,
        "kerberos_keytab": Feature.FILE_HDFS_KERBEROS,
        "kerberos_user": Feature.FILE_HDFS_KERBEROS,
        "kerberos_realm": Feature.FILE_HDFS_KERBEROS,
        "kerberos_config": Feature.FILE_HDFS_KERBEROS,
        "kerberos_service": Feature.FILE_HDFS_KERBEROS,
    },
    artifacts.GitLocation: {ITSELF: Feature.FILE_GIT},
    artifacts.AzureLocation: {ITSELF: Feature.FILE_AZURE},
    artifacts.HttpLocation: {ITSELF: Feature.FILE_HTTP},
    artifacts.ArtifactoryLocation: {ITSELF: Feature.FILE_ARTIFACTORY},
    artifacts.RawLocation: {ITSELF: Feature.FILE_RAW},
    artifacts.PluginLocation: {ITSELF: Feature.FILE_PLUGIN},
    values.Field: {ITSELF: Feature.FIELD},
    values.OrElse: {ITSELF: Feature.OR_ELSE},
    values.FirstOf: {ITSELF: Feature.FIRST_OF},
    values.Range: {ITSELF: Feature.RANGE},
    values.Template: {ITSELF: Feature.TEMPLATE},
    values.RunRef: {
        "field": {
            "id": Feature.RUN_ID,
            "logical_date": Feature.RUN_LOGICAL_DATE,
            "status": Feature.RUN_STATUS,
        }
    },
    pods.PodContainer: {
        ITSELF: _of_command,
        **_PROCESS,
    },
    pods.ContainerSettings: {
        "ports": Feature.CONTAINER_PORTS,
        "liveness_probe": Feature.CONTAINER_PROBES,
        "startup_probe": Feature.CONTAINER_PROBES,
        "readiness_probe": Feature.READINESS_PROBE,
        "lifecycle": Feature.CONTAINER_LIFECYCLE,
        "security_context": Feature.CONTAINER_SECURITY_CONTEXT,
        "restart_policy": Feature.CONTAINER_RESTART,
        "restart_rules": Feature.CONTAINER_RESTART,
        "resize": Feature.CONTAINER_RESIZE,
        "stdin": Feature.CONTAINER_STDIN,
        "stdin_once": Feature.CONTAINER_STDIN,
        "tty": Feature.CONTAINER_STDIN,
        "termination_message_path": Feature.TERMINATION_MESSAGE,
        "termination_message_policy": Feature.TERMINATION_MESSAGE,
        "devices": Feature.VOLUME_DEVICES,
    },
    pods.PodOptions: {
        "service_account": Feature.SERVICE_ACCOUNT,
        "executor_service_account": Feature.SERVICE_ACCOUNT,
        "automount_service_account_token": Feature.SERVICE_ACCOUNT,
        "host_aliases": Feature.HOST_ALIASES,
        "scheduler": Feature.SCHEDULER,
        "security_context": Feature.SECURITY_CONTEXT,
        "resources": Feature.POD_RESOURCES,
        "resource_claims": Feature.RESOURCE_CLAIMS,
        "spec_patch": Feature.POD_SPEC_PATCH,
    },
    pods.StepPod: {
        "timeout_s": Feature.POD_TIMEOUT,
        "pending_timeout_s": Feature.PENDING_TIMEOUT,
    },
    pods.PodSettings: {
        "image_pull_secrets": Feature.IMAGE_PULL_SECRETS,
        "node_selector": Feature.POD_PLACEMENT,
        "tolerations": Feature.POD_PLACEMENT,
        "affinity": Feature.AFFINITY,
        "priority_class": Feature.PRIORITY_CLASS,
        "dns": Feature.DNS,
        "host_network": Feature.HOST_NETWORK,
        "labels": Feature.POD_LABELS,
        "annotations": Feature.POD_LABELS,
    },
    storage.ClaimVolume: {ITSELF: Feature.VOLUME_CLAIM},
    storage.NewClaimVolume: {ITSELF: Feature.VOLUME_NEW_CLAIM},
    storage.EmptyVolume: {ITSELF: Feature.VOLUME_EMPTY},
    storage.SecretVolume: {ITSELF: Feature.VOLUME_SECRET},
    storage.ConfigVolume: {ITSELF: Feature.VOLUME_CONFIG},
    storage.HostVolume: {ITSELF: Feature.VOLUME_HOST},
    storage.NfsVolume: {ITSELF: Feature.VOLUME_NFS},
    storage.CsiVolume: {ITSELF: Feature.VOLUME_CSI},
    storage.EphemeralVolume: {ITSELF: Feature.VOLUME_EPHEMERAL},
    storage.ProjectedVolume: {ITSELF: Feature.VOLUME_PROJECTED},
    storage.SourceVolume: {ITSELF: Feature.VOLUME_SOURCE},
}
"""The features that fields ask of an engine, those of subclasses as well."""

ALL_FEATURES = frozenset(Feature)


class _FieldFeatures:
    """Finds in nodes the fields that ask for some features."""

    def __init__(self, wanted: frozenset[Feature]) -> None:
        self.wanted = wanted
        self._entries = functools.cache(self._entries_of)
        kinds = [cls for cls in FEATURES if self._entries_of(cls).entries]
        self._nodes: Traversal[Node] = Traversal(*kinds, enters=("inside", "typed"), inside=True)

    def _entries_of(self, cls: type[Node]) -> ByFields[tuple[str, object, _Entry]]:
        """Return the entries of the table for a class, each with the default of its field."""
        return ByFields(
            (name, None if name == ITSELF else cls.model_fields[name].default, entry)
            for base in cls.__mro__
            for name, entry in FEATURES.get(base, {}).items()
            if not self.wanted.isdisjoint(_features_of(entry))
        )

    def of(self, owner: Node) -> list[Feature]:
        """Return the features that a step or a workflow asks for by what it is given."""
        found: list[Feature] = []
        for _, node in (("", owner), *self._nodes.visit(owner)):
            data = node.__dict__
            entries = self._entries(type(node))
            for name, default, entry in entries[entries.names & node.__pydantic_fields_set__]:
                value: t.Any = data[name] if name else node
                if value is default or (type(value) is FrozenDict and not value):
                    continue
                if isinstance(entry, Feature):
                    found.append(entry)
                elif isinstance(entry, dict):
                    found += [entry[value]] if value in entry else []
                else:
                    found += entry.of(value)
        return found


_field_features = functools.cache(_FieldFeatures)


def _features_of(entry: _Entry) -> Iterable[Feature]:
    if isinstance(entry, Feature):
        return (entry,)
    return entry.values() if isinstance(entry, dict) else entry.features


class Use(t.NamedTuple):
    """One place where a workflow uses a feature."""

    feature: Feature
    step: str | None
    """Path of the step, or None for the workflow as a whole."""
    source: policies.SourceRef | None


def find_uses(workflow: Workflow, wanted: frozenset[Feature] = ALL_FEATURES) -> Iterator[Use]:
    """Yield every use of some features, in program order; a place can come more than once."""
    by_field = _field_features(wanted)
    for feature in _of_workflow(workflow, by_field):
        if feature in wanted:
            yield Use(feature, None, workflow.source)
    for around in enclosed_scopes(workflow):
        for step in around.scope.steps:
            for feature in _of_step(step, around, by_field):
                if feature in wanted:
                    yield Use(feature, around.scope.path_of(step), step.source)


def features(workflow: Workflow, wanted: frozenset[Feature] = ALL_FEATURES) -> frozenset[Feature]:
    """Return those of some features that a workflow uses."""
    return frozenset(use.feature for use in find_uses(workflow, wanted))


def _of_workflow(workflow: Workflow, by_field: _FieldFeatures) -> Iterator[Feature]:
    yield from by_field.of(workflow)
    for handler in workflow.exit_handlers:
        own = {step.name for step in handler.steps}
        if any(read.step not in own for step in handler.steps for read in references(step)):
            yield Feature.EXIT_HANDLER_READS_OUTPUT


def _of_step(step: Step, around: Enclosed, by_field: _FieldFeatures) -> list[Feature]:
    found = by_field.of(step)
    is_group = type(step.action) is Group
    if step.when is not None:
        found += _holding(
            {Feature.WHEN_ON_GROUP: is_group, Feature.WHEN_ON_FOREACH: step.foreach is not None}
        )
    if step.foreach is not None:
        found += _of_foreach(step, step.foreach, around)
    if step.loop is not None:
        found += _of_loop(step, around)
    if step.retry is not None and step.retry.limit and is_group:
        found.append(Feature.RETRY_GROUP)
    if step.timeout_s is not None:
        found.append(Feature.TIMEOUT_GROUP if is_group else Feature.TIMEOUT)
    if step.outputs:
        found += _of_outputs(step)
    if step.depends_on and around.foreaches and _reads_late(step, around):
        found.append(Feature.FOREACH_READ_ON_COMPLETION)
    return found


def _of_outputs(step: Step) -> Iterator[Feature]:
    if isinstance(step.action, Suspend):
        yield Feature.SUSPEND_OUTPUTS
    form = local_form(step)
    local = () if form is None else {output.name for output in form.outputs}
    for output in step.outputs:
        if output.default is not None:
            yield Feature.OUTPUT_DEFAULT
        if output.value is not None:
            continue
        if is_file(output.type):
            yield Feature.FILE if output.type == "file" else Feature.DIRECTORY
        elif output.json_path is not None:
            is_local = output.name in local
            yield Feature.OUTPUT_JSON_PATH_LOCAL if is_local else Feature.OUTPUT_JSON_PATH
        elif output.jq is not None:
            yield Feature.OUTPUT_JQ
        elif output.path is not None:
            yield Feature.OUTPUT_FILE_VALUE
        elif isinstance(step.action, Container | Script):
            yield Feature.STDOUT


def _of_foreach(step: Step, foreach: policies.Foreach, around: Enclosed) -> Iterator[Feature]:
    from couler.ir.ranges import is_known

    dynamic = not all(map(is_known, foreach.over.values()))
    return _holding(
        {
            Feature.FOREACH_OVER_OUTPUT: dynamic,
            Feature.FOREACH_ZIP: len(foreach.over) > 1,
            Feature.FOREACH_GROUP: isinstance(step.action, Group),
            Feature.FOREACH_OVER_OUTPUT_IN_GROUP: dynamic and around.scope.owner is not None,
            Feature.FOREACH_IN_FOREACH: around.in_foreach,
            Feature.FOREACH_OVER_OUTPUT_IN_FOREACH: dynamic and around.in_foreach,
            Feature.FOREACH_IN_LOOP: around.in_loop,
            Feature.FOREACH_FILES: any(is_file(output.type) for output in step.outputs),
        }
    )


def _of_loop(step: Step, around: Enclosed) -> Iterator[Feature]:
    is_carried = bool(ROUNDS.visit(step, fields=step.model_fields_set - {"loop"}))
    return _holding(
        {
            Feature.LOOP_GROUP: isinstance(step.action, Group),
            Feature.LOOP_IN_LOOP: around.in_loop,
            Feature.LOOP_IN_FOREACH: around.in_foreach,
            Feature.LOOP_WITH_FOREACH: step.foreach is not None,
            Feature.LOOP_CARRIED: is_carried,
        }
    )


def _reads_late(step: Step, around: Enclosed) -> bool:
    """Return whether a step reads from a foreach that may have failed."""
    ended_anyhow = {name for name, on in explicit_dependencies(step) if on != "success"}
    late = ended_anyhow & around.foreaches
    return bool(late) and any(reference.step in late for reference in references(step))


@dataclass(frozen=True)
class Enclosed:
    """A scope and what encloses it: the features of a step depend on them as well."""

    scope: Scope
    in_foreach: bool = False
    in_loop: bool = False

    @cached_property
    def foreaches(self) -> frozenset[str]:
        """Names of the steps of the scope that run once an item."""
        return frozenset(step.name for step in self.scope.steps if step.foreach is not None)


def enclosed_scopes(workflow: Workflow) -> Iterator[Enclosed]:
    """Yield every scope with what is around it, outer before inner."""
    outer: dict[ScopeKey, Enclosed] = {}
    for scope in scopes(workflow):
        around = Enclosed(scope)
        if scope.owner is not None:
            parent = outer[scope.key_around]
            around = Enclosed(
                scope,
                in_foreach=parent.in_foreach or scope.owner.foreach is not None,
                in_loop=parent.in_loop or scope.owner.loop is not None,
            )
        outer[scope.key] = around
        yield around


class Need(t.NamedTuple):
    """One object that must exist before a run."""

    kind: t.Literal["secret", "config map", "volume claim", "service account"]
    name: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        keys = f" with the keys {', '.join(self.keys)}" if self.keys else ""
        return f'{self.kind} "{self.name}"{keys} must exist'


def needs(workflow: Workflow) -> tuple[Need, ...]:
    """Return what a workflow refers to and does not make, each object once, in program order."""
    keys: dict[tuple[str, str], dict[str, None]] = {}
    for kind, name, key in _references(workflow):
        found = keys.setdefault((kind, name), {})
        if key is not None:
            found[key] = None
    return tuple(Need(kind, name, tuple(found)) for (kind, name), found in keys.items())  # type: ignore[arg-type]  # the kinds are those of _references


_NAMING: Traversal[Node] = Traversal(
    *(storage.SecretKey, storage.ConfigKey, storage.EnvFrom),
    *(storage.ClaimVolume, storage.SecretVolume, storage.ConfigVolume, storage.CsiVolume),
    *(policies.Semaphore, Parameter, artifacts.RepositoryRef, artifacts.RunFileRemoval),
    *(pods.PodSettings, pods.StepPod),
    enters=("agent",),
)
"""Finds what names objects that must exist."""


def _references(workflow: Workflow) -> Iterator[tuple[str, str, str | None]]:
    for owner in (*all_steps(workflow), workflow):
        for _, node in _NAMING.visit(owner):
            yield from _named(node)


def _named(node: Node) -> Iterator[tuple[str, str, str | None]]:
    match node:
        case storage.SecretKey(optional=False):
            yield "secret", node.secret, node.key
        case storage.ConfigKey(optional=False):
            yield "config map", node.config_map, node.key
        case policies.Semaphore(namespace=None, limit=entry):
            yield "config map", entry.config_map, entry.key
        case Parameter(config=storage.ConfigKey() as entry, default=None):
            yield "config map", entry.config_map, entry.key
        case storage.EnvFrom():
            if node.secret is not None:
                yield "secret", node.secret, None
            if node.config_map is not None:
                yield "config map", node.config_map, None
        case storage.ClaimVolume():
            yield "volume claim", node.claim, None
        case storage.SecretVolume(optional=False):
            for key in node.items or (None,):
                yield "secret", node.secret, key
        case storage.ConfigVolume(optional=False):
            for key in node.items or (None,):
                yield "config map", node.config_map, key
        case storage.CsiVolume(secret=str(secret)):
            yield "secret", secret, None
        case artifacts.RepositoryRef(config_map=str(name)) if name:
            yield "config map", name, node.key
        case artifacts.RunFileRemoval(service_account=str(name)):
            yield "service account", name, None
        case pods.PodOptions():
            for name in node.image_pull_secrets if isinstance(node, pods.PodSettings) else ():
                yield "secret", name, None
            for account in (node.service_account, node.executor_service_account):
                if account is not None:
                    yield "service account", account, None
