"""Steps that only engines of a cluster have: container sets, calls of templates, plugins."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl import pods
from couler.dsl.checks import attempt, checked_mapping
from couler.dsl.handles import ProcessHandle, Value, literal
from couler.dsl.objects import Duration
from couler.dsl.options import read_containers
from couler.dsl.processes import begin_step, finish
from couler.dsl.scope import Draft, Returns, Scope, free_among, make_input
from couler.dsl.step_options import StepOptions
from couler.dsl.types import PRINTED, TypeSpec, UnsupportedTypeError, spec_of, spec_of_value
from couler.dsl.units import parse_duration
from couler.dsl.words import add_files
from couler.ir.pods import PodContainer
from couler.ir.workflow import ContainerSet, Input, Output, Plugin, SetRetry, TemplateCall


def run_container_set(
    containers: Sequence[pods.PodContainer],
    output: object = None,
    input: object = None,
    container_retry: int | None = None,
    container_wait: Duration | None = None,
    step_name: str | None = None,
    *,
    name: str | None = None,
    **options: t.Unpack[StepOptions],
) -> ProcessHandle:
    """Run several containers in one pod, each when those that it depends on have ended well.

    Parameters
    ----------
    containers
        The containers; `depends_on` names those that one waits for. They share the work folder,
        `COULER_WORK`.
    output, input
        As for `run_container`, of the container that is named `main`.
    container_retry, container_wait
        How often a failed container runs again in the pod, and after how long.
    step_name, name
        Name of the step; by default that of the calling function.
    options
        The other options of `StepOptions` that are of the step as a whole, such as `volume_mounts`,
        `retry` and `timeout`.

    Returns
    -------
    ProcessHandle
        The step, what its container `main` gives, and the list of its outputs.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("sets") as wf:
    ...     both = couler.run_container_set([
    ...         couler.PodContainer("fetch", "busybox", ["sh", "-c", "date > $COULER_WORK/day"]),
    ...         couler.PodContainer(
    ...             "main", "busybox", ["sh", "-c", "cat $COULER_WORK/day"], depends_on=["fetch"]),
    ...     ], name="both")
    >>> [one.name for one in wf.to_ir().steps[0].action.containers]
    ['fetch', 'main']
    """
    scope, base, draft = begin_step("set", step_name, name)
    builder = scope.builder
    if input is not None:
        add_files(scope, draft, input, base)
    made = read_containers(builder, "containers", containers, base)

    def action() -> ContainerSet:
        wait_s = None if container_wait is None else parse_duration(container_wait)
        if container_retry is None and wait_s is not None:
            raise ValueError("container_wait is before a retry; give container_retry, too")
        retry = None
        if container_retry is not None:
            retry = SetRetry(limit=container_retry, wait_s=wait_s)
        return ContainerSet(containers=made, retry=retry)

    stand_in = ContainerSet(containers=(PodContainer(name="main", image="unknown"),))
    draft.action = attempt(builder, "run_container_set", action, base) or stand_in
    return finish(scope, draft, base, output, {**options})


def call_template(
    collection: str,
    template: str,
    arguments: Mapping[str, object] | None = None,
    outputs: Mapping[str, object] | None = None,
    cluster_wide: bool = False,
    step_name: str | None = None,
    *,
    name: str | None = None,
    **options: t.Unpack[StepOptions],
) -> ProcessHandle:
    """Run a template that exists on the cluster.

    Parameters
    ----------
    collection
        Name of the collection of templates, on Argo a WorkflowTemplate.
    template
        Name of the template in it.
    arguments
        What it takes, by name: text, numbers, values and files of the workflow.
    outputs
        What it is known to give, each with its Python type.
    cluster_wide
        The collection is one of all namespaces, on Argo a ClusterWorkflowTemplate.
    step_name, name
        Name of the step; by default that of the calling function, or of the template.
    options
        The other options of `StepOptions` that need no process and no template of the step's own.

    Returns
    -------
    ProcessHandle
        The step, and its outputs.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("calls", table="rows") as wf:
    ...     counted = couler.call_template(
    ...         "shared", "count", {"text": wf.params.table}, outputs={"total": int})
    ...     shown = couler.run_container("busybox", ["echo", counted.total], name="show")
    >>> wf.to_ir().steps[0].action.template
    'count'
    """
    scope, base, draft = begin_step(template, step_name, name)
    draft.give(_returns(scope, outputs, base))
    _add_inputs(scope, draft, arguments, base)

    def action() -> TemplateCall:
        return TemplateCall(collection=collection, template=template, cluster_wide=cluster_wide)

    unknown = TemplateCall(collection="unknown", template="unknown")
    draft.action = attempt(scope.builder, "call_template", action, base) or unknown
    return finish(scope, draft, base, None, {**options})


def run_plugin(
    plugin: str,
    body: Mapping[str, object],
    arguments: Mapping[str, object] | None = None,
    outputs: Mapping[str, object] | None = None,
    step_name: str | None = None,
    *,
    name: str | None = None,
    **options: t.Unpack[StepOptions],
) -> ProcessHandle:
    """Have a plugin of the engine do something.

    Parameters
    ----------
    plugin
        Its name.
    body
        What it is told: JSON values.
    arguments
        Values that it finds by their names among the inputs of the step.
    outputs
        What it is known to give, each with its Python type.
    step_name, name
        Name of the step; by default that of the calling function, or of the plugin.
    options
        The other options of `StepOptions` that need no process.

    Returns
    -------
    ProcessHandle
        The step, and its outputs.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("plugins") as wf:
    ...     told = couler.run_plugin("slack", {"channel": "ml"}, {"text": "done"})
    >>> wf.to_ir().steps[0].action.name
    'slack'
    """
    scope, base, draft = begin_step(plugin, step_name, name)
    draft.give(_returns(scope, outputs, base))
    _add_inputs(scope, draft, arguments, base)
    draft.action = attempt(
        scope.builder,
        "run_plugin",
        lambda: Plugin(name=plugin, body=dict(checked_mapping(scope.builder, "body", body, base))),
        base,
    ) or Plugin(name="unknown", body={})
    return finish(scope, draft, base, None, {**options})


def _add_inputs(
    scope: Scope, draft: Draft, arguments: Mapping[str, object] | None, step: str
) -> None:
    """Give a step its arguments as inputs of the same names."""
    for wanted, given in checked_mapping(scope.builder, "arguments", arguments, step).items():
        name = free_among({one.name for one in draft.inputs}, wanted)
        if isinstance(given, Value):
            value = scope.bring(given)
            made = make_input(name, value._ir(), value._spec)
        else:
            plain = literal(given)
            made = Input(name=name, value=plain, type=spec_of_value(plain.value).wire)
        draft.inputs = (*draft.inputs, made)


def _returns(scope: Scope, outputs: Mapping[str, object] | None, step: str) -> Returns:
    """Return what a step is known to give, each value with its Python type."""
    specs: dict[str, TypeSpec] = {}
    for name, declared in checked_mapping(scope.builder, "outputs", outputs, step).items():
        try:
            spec = spec_of(declared)
        except UnsupportedTypeError as error:
            scope.builder.report("CLR108", f'step "{step}": outputs: {name}: {error}', step=step)
            spec = PRINTED
        specs[name] = PRINTED if spec.wire == "str" else spec
    made = tuple(Output(name=name, type=spec.wire) for name, spec in specs.items())
    return Returns(made, specs, main=next(iter(specs), None))
