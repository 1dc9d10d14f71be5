"""The features of the IR that a workflow can use, and the walk that finds those it does.

Backends declare for every feature whether they can do it, so a feature is as fine as the
differences between engines: a foreach over a list known beforehand and one over an output are
two, and so are combinations that engines treat differently.
"""

from __future__ import annotations

import enum
import typing as t
from collections.abc import Iterator

from couler.ir.conditions import operands
from couler.ir.policies import AnyOf, Resources, SourceRef
from couler.ir.storage import (
    ClaimVolume,
    ConfigVolume,
    EmptyVolume,
    HostVolume,
    NewClaimVolume,
    SecretVolume,
)
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    ParamRef,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    walk,
)
from couler.ir.walk import Scope, explicit_dependencies, predecessors, scopes, step_values
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


class Feature(enum.StrEnum):
    """One thing that a workflow can ask of an engine."""

    # kinds of steps
    CONTAINER = "container"
    IMAGE_ENTRYPOINT = "container-without-command"
    SCRIPT = "script"
    PACKAGES = "script-packages"
    JOB = "job"
    HTTP = "http"
    SUSPEND = "suspend"
    SUSPEND_SECONDS = "suspend-seconds"
    GROUP = "group"
    DAEMON = "daemon"
    # order
    DEPENDS_ON_FAILURE = "depends-on-failure"
    DEPENDS_ON_COMPLETION = "depends-on-completion"
    DEPENDS_ON_ANY = "depends-on-any-of"
    # conditions
    WHEN = "when"
    WHEN_ON_GROUP = "when-on-group"
    WHEN_ON_FOREACH = "when-on-foreach"
    # iteration
    FOREACH = "foreach"
    FOREACH_OVER_OUTPUT = "foreach-over-output"
    FOREACH_ZIP = "foreach-zip"
    FOREACH_GROUP = "foreach-group"
    FOREACH_IN_FOREACH = "foreach-in-foreach"
    FOREACH_OVER_OUTPUT_IN_FOREACH = "foreach-over-output-in-foreach"
    FOREACH_OVER_OUTPUT_IN_GROUP = "foreach-over-output-in-group"
    FOREACH_MAX_PARALLEL = "foreach-max-parallel"
    FOREACH_READ_ON_COMPLETION = "foreach-read-on-completion"
    FOREACH_FILES = "foreach-files"
    LOOP = "loop"
    LOOP_GROUP = "loop-group"
    LOOP_CARRIED = "loop-carried-value"
    LOOP_IN_LOOP = "loop-in-loop"
    LOOP_IN_FOREACH = "loop-in-foreach"
    LOOP_WITH_FOREACH = "loop-with-foreach"
    FOREACH_IN_LOOP = "foreach-in-loop"
    # values
    PARAMETER = "parameter"
    STDOUT = "output-stdout"
    OUTPUT_FILE_VALUE = "output-from-file"
    OUTPUT_DEFAULT = "output-default"
    OUTPUT_JSON_PATH = "output-json-path"
    FILE = "file"
    DIRECTORY = "directory"
    FIELD = "value-field"
    OR_ELSE = "value-or-else"
    FIRST_OF = "value-first-of"
    TEMPLATE = "value-template"
    RUN_ID = "run-id"
    RUN_LOGICAL_DATE = "run-logical-date"
    RUN_STATUS = "run-status"
    WORKFLOW_OUTPUT = "workflow-output"
    # policies
    RETRY = "retry"
    RETRY_BACKOFF = "retry-backoff"
    RETRY_ON_ONE_KIND = "retry-on-failure-or-error-only"
    RETRY_EXIT_CODES = "retry-exit-codes"
    RETRY_GROUP = "retry-group"
    TIMEOUT = "timeout"
    TIMEOUT_GROUP = "timeout-group"
    CACHE = "cache"
    CACHE_MAX_AGE = "cache-max-age"
    MUTEX = "mutex"
    MAX_PARALLEL = "max-parallel"
    MAX_PARALLEL_GROUP = "max-parallel-group"
    # pods
    RESOURCES = "resources"
    GPU = "gpu"
    GPU_TYPE = "gpu-type"
    NODE_SELECTOR = "node-selector"
    TOLERATIONS = "tolerations"
    AFFINITY = "affinity"
    PRIORITY_CLASS = "priority-class"
    ENV = "env"
    SECRET_ENV = "secret-env"
    CONFIG_ENV = "config-env"
    ENV_FROM = "env-from"
    WORKING_DIR = "working-dir"
    PULL_POLICY = "pull-policy"
    POD_LABELS = "pod-labels"
    VOLUME_CLAIM = "volume-claim"
    VOLUME_NEW_CLAIM = "volume-new-claim"
    VOLUME_EMPTY = "volume-empty"
    VOLUME_SECRET = "volume-secret"
    VOLUME_CONFIG = "volume-config"
    VOLUME_HOST = "volume-host"
    SERVICE_ACCOUNT = "service-account"
    IMAGE_PULL_SECRETS = "image-pull-secrets"
    POD_PLACEMENT = "pod-placement"
    DNS = "dns"
    SECURITY_CONTEXT = "security-context"
    # whole workflows
    EXIT_HANDLER = "exit-handler"
    EXIT_HANDLER_READS_OUTPUT = "exit-handler-reads-output"
    SCHEDULE = "schedule"
    SCHEDULE_SEVERAL = "schedule-several-crons"
    WORKFLOW_TIMEOUT = "workflow-timeout"
    KEEP = "keep-after-end"
    LABELS = "labels"
    ENGINE_OVERRIDES = "engine-overrides"


class Use(t.NamedTuple):
    """One place where a workflow uses a feature."""

    feature: Feature
    step: str | None
    """Path of the step, or None for the workflow as a whole."""
    source: SourceRef | None


def find_uses(workflow: Workflow) -> Iterator[Use]:
    """Yield every use of every feature, in program order; a place can come more than once."""
    for feature in _workflow_features(workflow):
        yield Use(feature, None, workflow.source)
    for scope in scopes(workflow):
        around = _Around.of(scope, workflow)
        for step in scope.steps:
            path = "/".join((*scope.path, step.name))
            for feature in _step_features(step, around):
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
    return frozenset(use.feature for use in find_uses(workflow))


class _Around(t.NamedTuple):
    """What the features of a step depend on besides the step itself."""

    in_foreach: bool
    in_loop: bool
    in_handler: bool
    siblings: dict[str, Step]

    @classmethod
    def of(cls, scope: Scope, workflow: Workflow) -> _Around:
        owners: list[Step] = []
        handlers = {handler.name: handler.steps for handler in workflow.exit_handlers}
        steps = workflow.steps if scope.handler is None else handlers[scope.handler]
        for name in scope.path:
            owner = next(step for step in steps if step.name == name)
            owners.append(owner)
            if isinstance(owner.action, Group):
                steps = owner.action.steps
        return cls(
            in_foreach=any(owner.foreach is not None for owner in owners),
            in_loop=any(owner.loop is not None for owner in owners),
            in_handler=scope.handler is not None,
            siblings={step.name: step for step in scope.steps},
        )


def _workflow_features(workflow: Workflow) -> Iterator[Feature]:
    if workflow.parameters:
        yield Feature.PARAMETER
    for handler in workflow.exit_handlers:
        yield Feature.EXIT_HANDLER
        own = {step.name for step in handler.steps}
        if any(name not in own for step in handler.steps for name in predecessors(step)):
            yield Feature.EXIT_HANDLER_READS_OUTPUT
    for output in workflow.outputs:
        yield Feature.WORKFLOW_OUTPUT
        yield from _value_features(output.value)
    if workflow.schedule is not None:
        yield Feature.SCHEDULE
        if len(workflow.schedule.cron) > 1:
            yield Feature.SCHEDULE_SEVERAL
    for volume in workflow.volumes:
        match volume:
            case ClaimVolume():
                yield Feature.VOLUME_CLAIM
            case NewClaimVolume():
                yield Feature.VOLUME_NEW_CLAIM
            case EmptyVolume():
                yield Feature.VOLUME_EMPTY
            case SecretVolume():
                yield Feature.VOLUME_SECRET
            case ConfigVolume():
                yield Feature.VOLUME_CONFIG
            case HostVolume():
                yield Feature.VOLUME_HOST
            case _:
                t.assert_never(volume)
    if workflow.pod is not None:
        pod = workflow.pod
        present = {
            Feature.SERVICE_ACCOUNT: pod.service_account,
            Feature.IMAGE_PULL_SECRETS: pod.image_pull_secrets,
            Feature.POD_PLACEMENT: pod.node_selector or pod.tolerations,
            Feature.DNS: pod.dns,
            Feature.SECURITY_CONTEXT: pod.security_context,
        }
        yield from (feature for feature, value in present.items() if value)
    if workflow.timeout_s is not None:
        yield Feature.WORKFLOW_TIMEOUT
    if workflow.keep_s is not None:
        yield Feature.KEEP
    if workflow.max_parallel is not None:
        yield Feature.MAX_PARALLEL
    if workflow.labels or workflow.annotations:
        yield Feature.LABELS
    if workflow.engine:
        yield Feature.ENGINE_OVERRIDES


def _step_features(step: Step, around: _Around) -> Iterator[Feature]:
    yield from _action_features(step)
    for outcome in {on for _, on in explicit_dependencies(step)}:
        if outcome == "failure":
            yield Feature.DEPENDS_ON_FAILURE
        elif outcome == "completion":
            yield Feature.DEPENDS_ON_COMPLETION
    if any(isinstance(entry, AnyOf) for entry in step.depends_on):
        yield Feature.DEPENDS_ON_ANY
    if step.when is not None:
        yield Feature.WHEN
        if isinstance(step.action, Group):
            yield Feature.WHEN_ON_GROUP
        if step.foreach is not None:
            yield Feature.WHEN_ON_FOREACH
    yield from _iteration_features(step, around)
    for _, text in step_values(step):
        if not isinstance(text, str):
            yield from _value_features(text)
    for output in step.outputs:
        yield from _output_features(step, output)
    yield from _policy_features(step)
    yield from _pod_features(step)


def _action_features(step: Step) -> Iterator[Feature]:
    match step.action:
        case Container() as container:
            yield Feature.CONTAINER
            if not container.command:
                yield Feature.IMAGE_ENTRYPOINT
        case Script() as script:
            yield Feature.SCRIPT
            if script.packages:
                yield Feature.PACKAGES
        case Job():
            yield Feature.JOB
        case Http():
            yield Feature.HTTP
        case Suspend() as suspend:
            yield Feature.SUSPEND if suspend.seconds is None else Feature.SUSPEND_SECONDS
        case Group():
            yield Feature.GROUP
        case _:
            t.assert_never(step.action)
    if step.daemon:
        yield Feature.DAEMON


def _iteration_features(step: Step, around: _Around) -> Iterator[Feature]:
    if step.foreach is not None:
        yield Feature.FOREACH
        dynamic = not all(isinstance(items, Literal) for items in step.foreach.over.values())
        if dynamic:
            yield Feature.FOREACH_OVER_OUTPUT
        if len(step.foreach.over) > 1:
            yield Feature.FOREACH_ZIP
        if isinstance(step.action, Group):
            yield Feature.FOREACH_GROUP
        if around.in_foreach:
            yield Feature.FOREACH_IN_FOREACH
            if dynamic:
                yield Feature.FOREACH_OVER_OUTPUT_IN_FOREACH
        if around.in_loop:
            yield Feature.FOREACH_IN_LOOP
        if step.foreach.max_parallel is not None:
            yield Feature.FOREACH_MAX_PARALLEL
        if any(is_file(output.type) for output in step.outputs):
            yield Feature.FOREACH_FILES
    if step.loop is not None:
        yield Feature.LOOP
        if isinstance(step.action, Group):
            yield Feature.LOOP_GROUP
        if around.in_loop:
            yield Feature.LOOP_IN_LOOP
        if around.in_foreach:
            yield Feature.LOOP_IN_FOREACH
        if step.foreach is not None:
            yield Feature.LOOP_WITH_FOREACH
    ended_anyhow = {name for name, on in explicit_dependencies(step) if on != "success"}
    for _, text in step_values(step):
        for value in walk(text):
            if isinstance(value, RoundRef) and not _in_loop_condition(step, value):
                yield Feature.LOOP_CARRIED
            if isinstance(value, StepRef) and value.step in ended_anyhow:
                producer = around.siblings.get(value.step)
                if producer is not None and producer.foreach is not None:
                    yield Feature.FOREACH_READ_ON_COMPLETION


def _in_loop_condition(step: Step, value: Value) -> bool:
    if step.loop is None:
        return False
    return any(
        value is inner for operand in operands(step.loop.condition) for inner in walk(operand)
    )


def _value_features(value: Value | None) -> Iterator[Feature]:
    for inner in walk(value):
        match inner:
            case Field():
                yield Feature.FIELD
            case OrElse():
                yield Feature.OR_ELSE
            case FirstOf():
                yield Feature.FIRST_OF
            case Template():
                yield Feature.TEMPLATE
            case RunRef(field="id"):
                yield Feature.RUN_ID
            case RunRef(field="logical_date"):
                yield Feature.RUN_LOGICAL_DATE
            case RunRef():
                yield Feature.RUN_STATUS
            case Literal() | ParamRef() | StepRef() | ItemRef() | RoundRef():
                pass
            case _:
                t.assert_never(inner)


def _output_features(step: Step, output: Output) -> Iterator[Feature]:
    if output.default is not None:
        yield Feature.OUTPUT_DEFAULT
    if output.value is not None:
        yield from _value_features(output.value)
    elif output.type == "file":
        yield Feature.FILE
    elif output.type == "directory":
        yield Feature.DIRECTORY
    elif output.json_path is not None:
        yield Feature.OUTPUT_JSON_PATH
    elif output.path is not None:
        yield Feature.OUTPUT_FILE_VALUE
    elif isinstance(step.action, Container | Script):
        yield Feature.STDOUT


def _policy_features(step: Step) -> Iterator[Feature]:
    is_group = isinstance(step.action, Group)
    if step.retry is not None:
        yield Feature.RETRY
        if is_group:
            yield Feature.RETRY_GROUP
        if step.retry.backoff is not None:
            yield Feature.RETRY_BACKOFF
        if step.retry.exit_codes:
            yield Feature.RETRY_EXIT_CODES
        if len(set(step.retry.on)) == 1:
            yield Feature.RETRY_ON_ONE_KIND
    if step.timeout_s is not None:
        yield Feature.TIMEOUT_GROUP if is_group else Feature.TIMEOUT
    if step.cache is not None:
        yield Feature.CACHE
        if step.cache.max_age_s is not None:
            yield Feature.CACHE_MAX_AGE
    if step.mutex is not None:
        yield Feature.MUTEX
    if step.max_parallel is not None:
        yield Feature.MAX_PARALLEL_GROUP
    if step.engine:
        yield Feature.ENGINE_OVERRIDES


def _pod_features(step: Step) -> Iterator[Feature]:
    resources = step.resources
    if resources is not None:
        if resources.model_copy(update={"gpu": None}) != Resources():
            yield Feature.RESOURCES
        if resources.gpu is not None:
            yield Feature.GPU
            if resources.gpu.type is not None:
                yield Feature.GPU_TYPE
    placement = step.placement
    if placement is not None:
        present = {
            Feature.NODE_SELECTOR: placement.node_selector,
            Feature.TOLERATIONS: placement.tolerations,
            Feature.AFFINITY: placement.affinity,
            Feature.PRIORITY_CLASS: placement.priority_class,
        }
        yield from (feature for feature, value in present.items() if value)
    for variable in step.env:
        if variable.secret is not None:
            yield Feature.SECRET_ENV
        elif variable.config is not None:
            yield Feature.CONFIG_ENV
        else:
            yield Feature.ENV
    if step.env_from:
        yield Feature.ENV_FROM
    if step.working_dir is not None:
        yield Feature.WORKING_DIR
    if step.pull_policy is not None:
        yield Feature.PULL_POLICY
    if step.labels or step.annotations:
        yield Feature.POD_LABELS
