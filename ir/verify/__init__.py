"""Verification: everything that is wrong with a workflow, on whatever engine it will run."""

from __future__ import annotations

from collections.abc import Mapping

from couler.ir.actions import ContainerSet
from couler.ir.diagnostics import Diagnostic
from couler.ir.local_forms import as_process
from couler.ir.paths import HANDLER_PREFIX
from couler.ir.policies import Resources
from couler.ir.verify.actions import (
    check_action,
    check_inputs,
    check_local_outputs,
    check_output_defaults,
    check_outputs_of_process,
)
from couler.ir.verify.cluster import check_stored
from couler.ir.verify.conditions import check_when
from couler.ir.verify.environment import check_environment, check_paths
from couler.ir.verify.files import check_files, check_optional_reads, check_scope_outputs
from couler.ir.verify.flow import check_cycles, check_dependencies, check_outputs
from couler.ir.verify.hooks import check_hooks
from couler.ir.verify.limits import MAX_DEPTH, check_words
from couler.ir.verify.metrics import check_metrics
from couler.ir.verify.names import check_handler_name, check_step_names, check_value_names
from couler.ir.verify.own import OF_RUN, facts_of
from couler.ir.verify.parts import check_parts
from couler.ir.verify.places import check_places
from couler.ir.verify.pods import OF_POD, check_run_labels, check_step_pod
from couler.ir.verify.policies import POLICIES, check_foreach, check_policies, check_step_loop
from couler.ir.verify.quantities import check_resources
from couler.ir.verify.report import Order, Report
from couler.ir.verify.scope import ScopeView
from couler.ir.verify.settings import check_default_values, check_settings
from couler.ir.verify.types import Kind
from couler.ir.verify.values import Reader
from couler.ir.walk import HOOKS
from couler.ir.workflow import Group, Hook, Job, Step, Workflow

__all__ = ["verify"]


def verify(workflow: Workflow) -> tuple[Diagnostic, ...]:
    """Return all problems of a workflow that no engine could mend, in program order."""
    report = Report()
    check_settings(workflow, report)
    parameters = {p.name: Kind(p.type) for p in workflow.parameters}
    domains = {p.name: p.choices for p in workflow.parameters if p.choices}
    view = ScopeView(report, workflow, workflow.steps, parameters=parameters, domains=domains)
    if workflow.defaults is not None:
        check_default_values(view, workflow.defaults)
    if workflow.stored is None:
        _check_scope(view, depth=0)
    else:
        check_stored(view, workflow, workflow.stored)
    check_value_names((o.name for o in workflow.outputs), "output", view.add_to_scope)
    check_outputs(view, workflow.outputs)
    check_run_labels(view, workflow)
    _check_own(workflow, view)
    check_scope_outputs(view, workflow.outputs)
    check_optional_reads(view, workflow.outputs)
    _check_handlers(workflow, view)
    if report.places:
        check_places(workflow, report)
    return report.in_program_order()


def _check_own(workflow: Workflow, view: ScopeView) -> None:
    """Check the metrics and hooks of the workflow itself."""
    reader = Reader(view)
    reader.start(None)
    check_metrics(reader, workflow.metrics, OF_RUN)
    if workflow.hooks:
        check_hooks(reader, workflow.hooks)
        _check_hook_steps(view, workflow.hooks, f"{HOOKS}/", (len(workflow.steps),))


def _check_hook_steps(view: ScopeView, hooks: tuple[Hook, ...], prefix: str, order: Order) -> None:
    inner = ScopeView(
        view.report,
        view.workflow,
        tuple(hook.step for hook in hooks),
        parameters=view.parameters,
        domains=view.domains,
        prefix=prefix,
        order=order,
        handler=view.handler,
    )
    check_step_names(inner)
    reader = Reader(inner)
    for step in inner.all_steps:
        _check_step(reader, step)


def _check_handlers(workflow: Workflow, main: ScopeView) -> None:
    seen: set[str] = set()
    for index, handler in enumerate(workflow.exit_handlers):
        view = ScopeView(
            main.report,
            workflow,
            handler.steps,
            parameters=main.parameters,
            prefix=f"{HANDLER_PREFIX}{handler.name}/",
            domains=main.domains,
            order=(len(workflow.steps) + 1 + index,),
            handler=handler.name,
            outer=main.steps,
        )
        check_handler_name(handler.name, view.add_to_scope)
        if handler.name in seen:
            view.add_to_scope("CLR151", "another exit handler has this name. Rename one.")
        seen.add(handler.name)
        _check_scope(view, depth=0)
        check_optional_reads(view, ())


def _check_scope(view: ScopeView, depth: int) -> None:
    if not view.all_steps:
        view.add_to_scope("CLR201", "it has no steps, so there is nothing to run. Add one.")
        return
    check_step_names(view)
    reader = Reader(view)
    for step in view.all_steps:
        _check_step(reader, step)
    if reader.waits_for_later_step:
        check_cycles(view)
    if any(step.part is not None for step in view.all_steps):
        check_parts(view)
    for step in view.all_steps:
        action = step.action
        if type(action) is Group:  # an isinstance that says no takes longer
            _check_group(view, step, action, depth + 1)


def _check_step(reader: Reader, step: Step) -> None:
    view = reader.view
    reader.start(step, check_dependencies(reader, step) if step.depends_on else _NONE)
    if step.when is not None:
        check_when(reader, step.when)
    if step.foreach is not None:
        check_foreach(reader, step.foreach)
    if step.loop is not None:
        check_step_loop(reader, step, step.loop)
    _check_content(reader, step)
    if step.gives(POLICIES):
        check_policies(reader, step)
    if step.metrics:
        check_metrics(reader, step.metrics, facts_of(step))
    if step.hooks:
        check_hooks(reader, step.hooks)
        order = (*view.order, view.position[step.name])
        _check_hook_steps(view, step.hooks, f"{view.path(step)}.{HOOKS}/", order)
    if isinstance(step.action, Job) and step.action.local is not None:
        process = as_process(step)
        check_local_outputs(view, step, process)
        _check_content(reader, process)
        check_resources(process.resources or Resources(), reader.add)


_NONE: Mapping[str, str] = {}


def _check_content(reader: Reader, step: Step) -> None:
    """Check what a step runs, and what it takes in and gives out."""
    view = reader.view
    if step.inputs:
        check_value_names((given.name for given in step.inputs), "input", reader.add)
        check_inputs(reader, step)
    if step.outputs:
        check_value_names((output.name for output in step.outputs), "output", reader.add)
        check_output_defaults(view, step)
        if not isinstance(step.action, Group):
            check_outputs_of_process(view, step)
    if step.env or step.env_from:
        check_environment(reader, step)
    check_words(view, step)
    if step.inputs or step.outputs or step.logs is not None:
        check_files(reader, step)
    check_action(reader, step)
    if step.gives(OF_POD) or isinstance(step.action, ContainerSet):
        check_step_pod(reader, step)
    if step.mounts or step.inputs:
        check_paths(view, step)


def _check_group(outer: ScopeView, step: Step, group: Group, depth: int) -> None:
    view = ScopeView(
        outer.report,
        outer.workflow,
        group.steps,
        parameters={given.name: Kind(given.type, given.many) for given in step.inputs},
        domains={},
        prefix=f"{outer.path(step)}/",
        order=(*outer.order, outer.position[step.name]),
        owner=step,
        handler=outer.handler,
    )
    if depth > MAX_DEPTH:
        view.add_to_scope("CLR504", f"it is {depth} groups deep; at most {MAX_DEPTH} are nested.")
        return
    _check_scope(view, depth)
    check_outputs(view, step.outputs)
    check_optional_reads(view, step.outputs)
