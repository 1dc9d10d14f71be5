"""The walk that finds which features a workflow uses, and where."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from couler.ir.actions import ContainerSet, Plugin, TemplateCall
from couler.ir.features import Feature
from couler.ir.file_uses import add_file_features, add_file_settings_features
from couler.ir.local_forms import local_form
from couler.ir.locks import lock_features, locks_of
from couler.ir.metrics import Gauge, Metric
from couler.ir.pod_uses import (
    add_container_features,
    add_run_features,
    add_settings_features,
    add_step_pod_features,
)
from couler.ir.pods import PodContainer
from couler.ir.policies import AnyOf, Dependency, Foreach, Loop, Resources, SourceRef
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
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    walk,
)
from couler.ir.walk import (
    LOCAL,
    Scope,
    explicit_dependencies,
    pod_containers,
    references,
    scopes,
    step_values,
)
from couler.ir.wire import is_file
from couler.ir.workflow import (
    Container,
    Group,
    Http,
    Job,
    Output,
    Script,
    Step,
    Suspend,
    Workflow,
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
    _add_workflow_features(workflow, found.append)
    for feature in found:
        yield Use(feature, None, workflow.source)
    for around in _surroundings(workflow):
        for step in around.scope.steps:
            path = around.scope.path_of(step)
            found = []
            _add_step_features(step, around, found.append)
            for feature in found:
                yield Use(feature, path, step.source)


def features(workflow: Workflow) -> frozenset[Feature]:
    """Return the features that a workflow uses.

    Examples
    --------
    >>> from couler.ir.workflow import Container, Step, Workflow
    >>> hello = Step(name="hello", action=Container(image="busybox", command=("true",)))
    >>> sorted(features(Workflow(name="w", steps=(hello,))))
    [<Feature.CONTAINER: 'container'>]
    """
    found: set[Feature] = set()
    _add_workflow_features(workflow, found.add)
    for around in _surroundings(workflow):
        for step in around.scope.steps:
            _add_step_features(step, around, found.add)
    return frozenset(found)


Add: t.TypeAlias = Callable[[Feature], object]


class _Around(t.NamedTuple):
    """What the features of a step depend on besides the step itself."""

    scope: Scope
    in_foreach: bool = False
    in_loop: bool = False


def _surroundings(workflow: Workflow) -> Iterator[_Around]:
    """Yield every scope with what is around it, outer before inner."""
    outer: dict[tuple[str | None, tuple[str, ...]], _Around] = {}
    for scope in scopes(workflow):
        around = _Around(scope)
        if scope.owner is not None:
            parent = outer[scope.handler, scope.path[:-1]]
            around = _Around(
                scope,
                in_foreach=parent.in_foreach or scope.owner.foreach is not None,
                in_loop=parent.in_loop or scope.owner.loop is not None,
            )
        outer[scope.handler, scope.path] = around
        yield around


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


def _add_workflow_features(workflow: Workflow, add: Add) -> None:
    if workflow.parameters:
        add(Feature.PARAMETER)
    for handler in workflow.exit_handlers:
        add(Feature.EXIT_HANDLER)
        own = {step.name for step in handler.steps}
        if any(read.step not in own for step in handler.steps for read in references(step)):
            add(Feature.EXIT_HANDLER_READS_OUTPUT)
    for output in workflow.outputs:
        add(Feature.WORKFLOW_OUTPUT)
        if output.value is not None:
            _add_value_features(output.value, add)
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
                _add_value_features(label.value, add)
    if workflow.timeout_s is not None:
        add(Feature.WORKFLOW_TIMEOUT)
    if workflow.keep_s is not None:
        add(Feature.KEEP)
    if workflow.max_parallel is not None:
        add(Feature.MAX_PARALLEL)
    for metric in workflow.metrics:
        add(Feature.WORKFLOW_METRIC)
        _add_metric_features(metric, add)
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


def _add_step_features(step: Step, around: _Around, add: Add) -> None:
    _add_action_features(step, add)
    for entry in step.depends_on:
        if not isinstance(entry, str):
            _add_dependency_features(entry, add)
            _add_late_read_features(step, around, add)
    if step.when is not None:
        add(Feature.WHEN)
        if isinstance(step.action, Group):
            add(Feature.WHEN_ON_GROUP)
        if step.foreach is not None:
            add(Feature.WHEN_ON_FOREACH)
    if step.foreach is not None:
        _add_foreach_features(step, step.foreach, around, add)
    if step.loop is not None:
        _add_loop_features(step, step.loop, around, add)
    for field, text in step_values(step):
        # What a local form reads is for engines that run it in place of the job.
        if not isinstance(text, str) and not field.startswith(LOCAL):
            _add_value_features(text, add)
    for given in step.inputs:
        if is_file(given.type):
            add(Feature.FILE if given.type == "file" else Feature.DIRECTORY)
    for output in step.outputs:
        _add_output_features(step, output, add)
    add_file_features(step, add)
    _add_policy_features(step, add)
    _add_pod_features(step, add)


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
    if step.daemon:
        add(Feature.DAEMON)
    for metric in step.metrics:
        add(Feature.METRIC)
        _add_metric_features(metric, add)
    if step.hooks:
        add(Feature.HOOK)


def _add_metric_features(metric: Metric, add: Add) -> None:
    if isinstance(metric, Gauge) and metric.realtime:
        add(Feature.METRIC_REALTIME)


def _add_dependency_features(entry: Dependency | AnyOf, add: Add) -> None:
    options: tuple[str | Dependency, ...] = (entry,) if isinstance(entry, Dependency) else ()
    if isinstance(entry, AnyOf):
        add(Feature.DEPENDS_ON_ANY)
        options = entry.options
    for option in options:
        if isinstance(option, Dependency):
            failure = option.on == "failure"
            add(Feature.DEPENDS_ON_FAILURE if failure else Feature.DEPENDS_ON_COMPLETION)


def _add_foreach_features(step: Step, foreach: Foreach, around: _Around, add: Add) -> None:
    add(Feature.FOREACH)
    dynamic = not all(isinstance(items, Literal) for items in foreach.over.values())
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


def _add_loop_features(step: Step, loop: Loop, around: _Around, add: Add) -> None:
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


def _add_late_read_features(step: Step, around: _Around, add: Add) -> None:
    """Add what it takes to read from a foreach that may have failed."""
    ended_anyhow = {name for name, on in explicit_dependencies(step) if on != "success"}
    foreaches = {other.name for other in around.scope.steps if other.foreach is not None}
    if any(reference.step in ended_anyhow & foreaches for reference in references(step)):
        add(Feature.FOREACH_READ_ON_COMPLETION)


_WITHOUT_FEATURES = frozenset((Literal, ParamRef, StepRef, ItemRef))


def _add_value_features(value: Value, add: Add) -> None:
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


def _add_output_features(step: Step, output: Output, add: Add) -> None:
    if output.default is not None:
        add(Feature.OUTPUT_DEFAULT)
    if output.value is not None:
        _add_value_features(output.value, add)
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
    if step.engine:
        add(Feature.ENGINE_OVERRIDES)


def _add_pod_features(step: Step, add: Add) -> None:
    if step.resources is not None:
        _add_resource_features(step.resources, add)
    placement = step.placement
    if placement is not None:
        present = {
            Feature.NODE_SELECTOR: placement.node_selector,
            Feature.TOLERATIONS: placement.tolerations,
            Feature.AFFINITY: placement.affinity,
            Feature.PRIORITY_CLASS: placement.priority_class,
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
