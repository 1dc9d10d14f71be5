"""Jobs that can do without a cluster: their local forms take their place, or are left out."""

from __future__ import annotations

from collections.abc import Callable

from couler.ir.walk import all_steps, implied_dependencies
from couler.ir.workflow import Group, Job, LocalForm, Step, Workflow


def local_form(step: Step) -> LocalForm | None:
    """Return what runs in place of a step's job on an engine without a cluster, if anything."""
    return step.action.local if isinstance(step.action, Job) else None


def use_local_forms(workflow: Workflow) -> Workflow:
    """Return the workflow with the local forms of its jobs in their place."""
    return _rewrite(workflow, as_process)


def leave_out_local_forms(workflow: Workflow) -> Workflow:
    """Return the workflow with jobs that have no local form."""
    return _rewrite(workflow, _as_job)


def as_process(step: Step) -> Step:
    """Return the step that runs the local form of a job; any other step as it is."""
    form = local_form(step)
    if form is None:
        return step
    process = step.model_copy(
        update={
            "action": form.action,
            "inputs": form.inputs,
            "outputs": form.outputs,
            "env": form.env,
            "resources": form.resources,
            "working_dir": form.working_dir,
        }
    )
    return _waiting_as(step, process)


def _as_job(step: Step) -> Step:
    if local_form(step) is None:
        return step
    alone = step.model_copy(update={"action": step.action.model_copy(update={"local": None})})
    return _waiting_as(step, alone)


def _waiting_as(step: Step, changed: Step) -> Step:
    """Return a changed step that waits for all that the step reads from."""
    kept = set(implied_dependencies(changed))
    edges = [name for name in implied_dependencies(step) if name not in kept]
    return (
        changed.model_copy(update={"depends_on": (*step.depends_on, *edges)}) if edges else changed
    )


def _rewrite(workflow: Workflow, change: Callable[[Step], Step]) -> Workflow:
    if all(local_form(step) is None for step in all_steps(workflow)):
        return workflow

    def rewrite(steps: tuple[Step, ...]) -> tuple[Step, ...]:
        return tuple(rewrite_step(step) for step in steps)

    def rewrite_step(step: Step) -> Step:
        if not isinstance(step.action, Group):
            return change(step)
        inner = step.action.model_copy(update={"steps": rewrite(step.action.steps)})
        return step.model_copy(update={"action": inner})

    handlers = tuple(
        handler.model_copy(update={"steps": rewrite(handler.steps)})
        for handler in workflow.exit_handlers
    )
    return workflow.model_copy(update={"steps": rewrite(workflow.steps), "exit_handlers": handlers})
