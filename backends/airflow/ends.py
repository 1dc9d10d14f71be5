"""What belongs to a run as a whole besides its steps: its start by a person, what it leaves."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.airflow.operators import PYTHON
from couler.backends.airflow.outputs import RUN_OUTPUTS
from couler.backends.airflow.places import last_steps, own_name, waits_otherwise
from couler.backends.airflow.python import Chain, Code, call, statement
from couler.backends.airflow.reading import Scope
from couler.backends.airflow.suspend import approval
from couler.backends.airflow.texts import untouched_all
from couler.ir.walk import predecessors
from couler.ir.workflow import Group, Step, Workflow

if t.TYPE_CHECKING:
    from couler.backends.airflow.module import Module


RUN_STATUS = "run-status"
"""The id of the task that fails where the run has."""


def has_status(workflow: Workflow) -> bool:
    """Return whether a task of its own tells the state of a run."""
    return bool(workflow.exit_handlers) or any(map(waits_otherwise, workflow.steps))


def last_tasks(workflow: Workflow, scope: Scope) -> list[str]:
    """Return the ids of the tasks that tell whether a run as a whole has failed."""
    if workflow.outputs:
        return [own_name(RUN_OUTPUTS, workflow)]
    if has_status(workflow):
        return [own_name(RUN_STATUS, workflow)]
    return scope.all_leaves(workflow.steps)


def start_lines(workflow: Workflow, module: Module, *, indent: int) -> tuple[str, list[str]]:
    """Return the variable of the task that a person lets go on, and the lines that make it."""
    name = module.name("may_start")
    operator = approval(f"Start {workflow.name}?", module)
    made = operator.made(own_name("may-start", workflow), {}, is_mapped=False)
    return name, [statement(name, made, indent=indent)]


def removal_lines(
    created: t.Mapping[str, t.Mapping[str, object]],
    workflow: Workflow,
    module: Module,
    *,
    indent: int,
) -> list[str]:
    """Return the lines of the task that deletes what tasks have created for the run."""
    if not created:
        return []
    ends, removal = module.name("last_tasks"), module.name("remove_resources")
    made = call(
        module.take(PYTHON, "PythonOperator"),
        task_id=own_name("remove-resources", workflow),
        python_callable=Code(module.use("delete_resources")),
        op_kwargs={"created": untouched_all(dict(created), module)},
    )
    return [
        statement(ends, Code("dag.leaves"), indent=indent),
        statement(removal, Chain(made, call("as_teardown")), indent=indent),
        f"{'    ' * indent}{ends} >> {removal}",
    ]


def wait_lines(workflow: Workflow, module: Module, *, has_teardowns: bool) -> list[str]:
    """Return the line by which tasks that run after any end wait for all before them."""
    handlers = workflow.exit_handlers
    steps = (*workflow.steps, *(step for one in handlers for step in one.steps))
    looks = has_teardowns or handlers or any(map(waits_otherwise, steps))
    if not looks or not _can_end_early(steps):
        return []
    return [f"    {module.use('wait_for_all')}(dag)"]


def _can_end_early(steps: Sequence[Step]) -> bool:
    """Return whether a task may end, below a failure, before another does that stands before it."""
    for step in steps:
        if len(set(predecessors(step))) > 1 or step.foreach is not None:
            return True
        inner = step.action.steps if isinstance(step.action, Group) else ()
        if len(last_steps(inner)) > 1 or _can_end_early(inner):
            return True
    return False
