"""What a workflow uses: features of the IR, and objects that must exist where it runs."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from couler.ir.artifacts import ListFiles, location_references
from couler.ir.defaults import local_form
from couler.ir.features import Feature
from couler.ir.pods import PodOptions
from couler.ir.policies import (
    AnyOf,
    Dependency,
    Foreach,
    Lock,
    Semaphore,
    SourceRef,
    lock_features,
    locks_of,
    metric_features,
)
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    CsiVolume,
    EnvFrom,
    EnvVar,
    SecretKey,
    SecretVolume,
    Volume,
)
from couler.ir.values import VALUES, RoundRef, is_file, walk
from couler.ir.walk import (
    LOCAL,
    Scope,
    ScopeKey,
    all_steps,
    explicit_dependencies,
    locations,
    pod_containers,
    references,
    scopes,
    step_values,
)
from couler.ir.workflow import (
    Container,
    ContainerSet,
    Group,
    Http,
    Job,
    Output,
    Plugin,
    Script,
    Step,
    Suspend,
    TemplateCall,
    Workflow,
)
from couler.ir.workflow_uses import (
    add_file_features,
    add_process_features,
    add_value_features,
    add_workflow_features,
)


class Use(t.NamedTuple):
    """One place where a workflow uses a feature."""

    feature: Feature
    step: str | None
    """Path of the step, or None for the workflow as a whole."""
    source: SourceRef | None


def find_uses(workflow: Workflow) -> Iterator[Use]:
    """Yield every use of every feature, in program order; a place can come more than once."""
    found: list[Feature] = []
    add_workflow_features(workflow, found.append)
    for feature in found:
        yield Use(feature, None, workflow.source)
    for around in enclosed_scopes(workflow):
        for step in around.scope.steps:
            path = around.scope.path_of(step)
            found = []
            _add_step_features(step, around, found.append)
            for feature in found:
                yield Use(feature, path, step.source)


def features(workflow: Workflow) -> frozenset[Feature]:
    """Return the features that a workflow uses."""
    found: set[Feature] = set()
    add_workflow_features(workflow, found.add)
    for around in enclosed_scopes(workflow):
        for step in around.scope.steps:
            _add_step_features(step, around, found.add)
    return frozenset(found)


Add: t.TypeAlias = Callable[[Feature], object]

_OF_FLOW = frozenset(("when", "foreach", "loop", "daemon", "metrics", "hooks"))
_OF_FILES = frozenset(("inputs", "outputs", "logs"))
_OF_POLICY = frozenset(
    ("retry", "timeout_s", "cache", "mutex", "locks", "max_parallel", "part", "engine")
)
"""The fields of a step that the functions of these names look at."""


def _add_step_features(step: Step, around: Enclosed, add: Add) -> None:
    _add_action_features(step, add)
    if step.depends_on:
        add_order_features(step, around, add)
    if step.gives(_OF_FLOW):
        _add_flow_features(step, around, add)
    for path, value in VALUES.visit(step):
        if path.startswith(LOCAL):
            continue
        add_value_features(value, add)
    if step.gives(_OF_FILES):
        for given in step.inputs:
            if is_file(given.type):
                add(Feature.FILE if given.type == "file" else Feature.DIRECTORY)
        for output in step.outputs:
            _add_output_features(step, output, add)
        add_file_features(step, add)
    if step.gives(_OF_POLICY):
        _add_policy_features(step, add)
    add_process_features(step, add)


def _add_flow_features(step: Step, around: Enclosed, add: Add) -> None:
    if step.when is not None:
        add(Feature.WHEN)
        if isinstance(step.action, Group):
            add(Feature.WHEN_ON_GROUP)
        if step.foreach is not None:
            add(Feature.WHEN_ON_FOREACH)
    if step.foreach is not None:
        add_foreach_features(step, step.foreach, around, add)
    if step.loop is not None:
        add_loop_features(step, around, add)
    if step.daemon:
        add(Feature.DAEMON)
    for metric in step.metrics:
        add(Feature.METRIC)
        for feature in metric_features(metric):
            add(feature)
    if step.hooks:
        add(Feature.HOOK)


def _add_action_features(step: Step, add: Add) -> None:
    match step.action:
        case Container() as container:
            add(Feature.CONTAINER)
            if not container.command:
                add(Feature.IMAGE_ENTRYPOINT)
        case Script() as script:
            add(Feature.SCRIPT)
            if script.packages:
                add(Feature.PACKAGES)
        case Job() as job:
            add(Feature.JOB if job.local is None else Feature.JOB_LOCAL_FORM)
            if job.values:
                add(Feature.JOB_VALUES)
            if job.flags:
                add(Feature.JOB_FLAGS)
            if job.merge_strategy is not None:
                add(Feature.JOB_MERGE_STRATEGY)
            if job.manifest_from is not None:
                add(Feature.JOB_MANIFEST_FROM)
        case Http() as http:
            add(Feature.HTTP)
            if http.body_base64 is not None:
                add(Feature.HTTP_BODY_BYTES)
            if http.success_condition is not None:
                add(Feature.HTTP_SUCCESS_CONDITION)
            if not http.verify_tls:
                add(Feature.HTTP_UNVERIFIED)
        case Suspend() as suspend:
            add(Feature.SUSPEND if suspend.seconds is None else Feature.SUSPEND_SECONDS)
            if step.outputs:
                add(Feature.SUSPEND_OUTPUTS)
        case ListFiles():
            add(Feature.LIST_FILES)
        case ContainerSet():
            add(Feature.CONTAINER_SET)
        case TemplateCall():
            add(Feature.TEMPLATE_CALL)
        case Plugin():
            add(Feature.PLUGIN)
        case Group():
            add(Feature.GROUP)
        case _:
            t.assert_never(step.action)


def _add_output_features(step: Step, output: Output, add: Add) -> None:
    if output.default is not None:
        add(Feature.OUTPUT_DEFAULT)
    if output.value is not None:
        add_value_features(output.value, add)
    elif is_file(output.type):
        add(Feature.FILE if output.type == "file" else Feature.DIRECTORY)
    elif output.json_path is not None:
        form = local_form(step)
        is_local = form is not None and any(local.name == output.name for local in form.outputs)
        add(Feature.OUTPUT_JSON_PATH_LOCAL if is_local else Feature.OUTPUT_JSON_PATH)
    elif output.jq is not None:
        add(Feature.OUTPUT_JQ)
    elif output.path is not None:
        add(Feature.OUTPUT_FILE_VALUE)
    elif isinstance(step.action, Container | Script):
        add(Feature.STDOUT)


def _add_policy_features(step: Step, add: Add) -> None:
    if step.retry is not None and step.retry.limit:
        add(Feature.RETRY)
        if isinstance(step.action, Group):
            add(Feature.RETRY_GROUP)
        if step.retry.exit_codes:
            add(Feature.RETRY_EXIT_CODES)
        if step.retry.backoff is not None:
            add(Feature.RETRY_BACKOFF)
            if step.retry.backoff.max_duration_s is not None:
                add(Feature.RETRY_MAX_DURATION)
        if step.retry.other_node:
            add(Feature.RETRY_OTHER_NODE)
        if "transient" in step.retry.on:
            add(Feature.RETRY_TRANSIENT)
        elif len(set(step.retry.on)) == 1:
            add(Feature.RETRY_ON_ONE_KIND)
    if step.timeout_s is not None:
        is_group = isinstance(step.action, Group)
        add(Feature.TIMEOUT_GROUP if is_group else Feature.TIMEOUT)
    if step.cache is not None:
        add(Feature.CACHE)
        if step.cache.max_age_s is not None:
            add(Feature.CACHE_MAX_AGE)
    if step.mutex is not None or step.locks:
        for lock in locks_of(step):
            for feature in lock_features(lock):
                add(feature)
    if step.max_parallel is not None:
        add(Feature.MAX_PARALLEL_GROUP)
    if step.part is not None:
        if step.part.group is not None:
            add(Feature.PART)
        if step.part.run is not None:
            add(Feature.PART_RUN)
    if step.engine:
        add(Feature.ENGINE_OVERRIDES)


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


def add_order_features(step: Step, around: Enclosed, add: Add) -> None:
    """Add the features of what a step waits for."""
    plain = True
    for entry in step.depends_on:
        if not isinstance(entry, str):
            plain = False
            _add_dependency_features(entry, add)
    if not plain and _reads_late(step, around):
        add(Feature.FOREACH_READ_ON_COMPLETION)


def _add_dependency_features(entry: Dependency | AnyOf, add: Add) -> None:
    options: tuple[str | Dependency, ...] = (entry,) if isinstance(entry, Dependency) else ()
    if isinstance(entry, AnyOf):
        add(Feature.DEPENDS_ON_ANY)
        options = entry.options
    for option in options:
        if isinstance(option, Dependency):
            failure = option.on == "failure"
            add(Feature.DEPENDS_ON_FAILURE if failure else Feature.DEPENDS_ON_COMPLETION)


def add_foreach_features(step: Step, foreach: Foreach, around: Enclosed, add: Add) -> None:
    """Add the features of a step that runs once an item."""
    from couler.ir.ranges import is_known

    add(Feature.FOREACH)
    dynamic = not all(map(is_known, foreach.over.values()))
    if dynamic:
        add(Feature.FOREACH_OVER_OUTPUT)
    if len(foreach.over) > 1:
        add(Feature.FOREACH_ZIP)
    if isinstance(step.action, Group):
        add(Feature.FOREACH_GROUP)
    if dynamic and around.scope.owner is not None:
        add(Feature.FOREACH_OVER_OUTPUT_IN_GROUP)
    if around.in_foreach:
        add(Feature.FOREACH_IN_FOREACH)
        if dynamic:
            add(Feature.FOREACH_OVER_OUTPUT_IN_FOREACH)
    if around.in_loop:
        add(Feature.FOREACH_IN_LOOP)
    if foreach.max_parallel is not None:
        add(Feature.FOREACH_MAX_PARALLEL)
    if any(is_file(output.type) for output in step.outputs):
        add(Feature.FOREACH_FILES)


def add_loop_features(step: Step, around: Enclosed, add: Add) -> None:
    """Add the features of a step that runs round by round."""
    add(Feature.LOOP)
    if isinstance(step.action, Group):
        add(Feature.LOOP_GROUP)
    if around.in_loop:
        add(Feature.LOOP_IN_LOOP)
    if around.in_foreach:
        add(Feature.LOOP_IN_FOREACH)
    if step.foreach is not None:
        add(Feature.LOOP_WITH_FOREACH)
    for field, text in step_values(step):
        if (
            field != "loop"
            and not field.startswith(LOCAL)
            and any(isinstance(value, RoundRef) for value in walk(text))
        ):
            add(Feature.LOOP_CARRIED)


def _reads_late(step: Step, around: Enclosed) -> bool:
    """Return whether a step reads from a foreach that may have failed."""
    ended_anyhow = {name for name, on in explicit_dependencies(step) if on != "success"}
    late = ended_anyhow & around.foreaches
    return bool(late) and any(reference.step in late for reference in references(step))


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


_REFERRING = frozenset(
    (
        "env",
        "env_from",
        "sidecars",
        "init_containers",
        "locks",
        "inputs",
        "outputs",
        "logs",
        "pod",
    )
)
"""The fields of a step that may refer to such objects, besides an action that is no container."""


def _references(workflow: Workflow) -> Iterator[tuple[str, str, str | None]]:
    for required in workflow.secrets:
        yield "secret", required.secret, required.key
    for parameter in workflow.parameters:
        if parameter.config is not None and parameter.default is None:
            yield "config map", parameter.config.config_map, parameter.config.key
    for step in all_steps(workflow):
        if step.gives(_REFERRING) or not isinstance(step.action, Container):
            yield from _of_step(step)
    for lock in workflow.locks:
        yield from _of_lock(lock)
    for volume in workflow.volumes:
        yield from _of_volume(volume)
    if workflow.runs is not None:
        for plugin in workflow.runs.plugins:
            for variable in plugin.container.env:
                yield from _of_variable(variable)
            for source in plugin.container.env_from:
                yield from _of_source(source)
    files = workflow.files
    if files is not None and files.repository is not None and files.repository.config_map:
        yield "config map", files.repository.config_map, files.repository.key
    if files is not None and files.removal is not None and files.removal.service_account:
        yield "service account", files.removal.service_account, None
    if workflow.pod is not None:
        for name in workflow.pod.image_pull_secrets:
            yield "secret", name, None
        yield from _of_pod(workflow.pod)


def _of_step(step: Step) -> Iterator[tuple[str, str, str | None]]:
    variables = list(step.env)
    if isinstance(step.action, Http):
        variables += step.action.headers
    sources = list(step.env_from)
    for container in pod_containers(step):
        variables += container.env
        sources += container.env_from
    for variable in variables:
        yield from _of_variable(variable)
    for lock in step.locks:
        yield from _of_lock(lock)
    for source in sources:
        yield from _of_source(source)
    for location in locations(step):
        for key in location_references(location):
            yield from _of_key(key)
    if step.pod is not None:
        yield from _of_pod(step.pod)


def _of_pod(pod: PodOptions) -> Iterator[tuple[str, str, str | None]]:
    for name in (pod.service_account, pod.executor_service_account):
        if name is not None:
            yield "service account", name, None


def _of_volume(volume: Volume) -> Iterator[tuple[str, str, str | None]]:
    match volume:
        case ClaimVolume():
            yield "volume claim", volume.claim, None
        case SecretVolume(optional=False):
            for key in volume.items or (None,):
                yield "secret", volume.secret, key
        case ConfigVolume(optional=False):
            for key in volume.items or (None,):
                yield "config map", volume.config_map, key
        case CsiVolume(secret=str(secret)):
            yield "secret", secret, None


def _of_source(source: EnvFrom) -> Iterator[tuple[str, str, str | None]]:
    if source.secret is not None:
        yield "secret", source.secret, None
    if source.config_map is not None:
        yield "config map", source.config_map, None


def _of_variable(variable: EnvVar) -> Iterator[tuple[str, str, str | None]]:
    for key in (variable.secret, variable.config):
        if key is not None:
            yield from _of_key(key)


def _of_key(key: SecretKey | ConfigKey) -> Iterator[tuple[str, str, str | None]]:
    if key.optional:
        return
    if isinstance(key, SecretKey):
        yield "secret", key.secret, key.key
    else:
        yield "config map", key.config_map, key.key


def _of_lock(lock: Lock) -> Iterator[tuple[str, str, str | None]]:
    if isinstance(lock, Semaphore) and lock.namespace is None:
        yield "config map", lock.limit.config_map, lock.limit.key
