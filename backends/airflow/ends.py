"""What belongs to a run as a whole besides its steps: its start by a person, what it leaves."""

from __future__ import annotations

import typing as t

from couler.backends.airflow.places import own_name
from couler.backends.airflow.python import Chain, Code, call, statement
from couler.backends.airflow.suspend import approval
from couler.ir.workflow import Workflow

if t.TYPE_CHECKING:
    from couler.backends.airflow.module import Module

_PYTHON = "airflow.providers.standard.operators.python"


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
    """Return the lines of the task that deletes what tasks have created for the run.

    Parameters
    ----------
    created
        For each of those tasks, by its id, what tells the kind of its resources.
    workflow
        The workflow.
    module
        Takes what the task needs.
    indent
        Levels of indentation.
    """
    if not created:
        return []
    ends, removal = module.name("last_tasks"), module.name("remove_resources")
    made = call(
        module.take(_PYTHON, "PythonOperator"),
        task_id=own_name("remove-resources", workflow),
        python_callable=Code(module.use("delete_resources")),
        op_kwargs={"created": created},
    )
    return [
        statement(ends, Code("dag.leaves"), indent=indent),
        statement(removal, Chain(made, call("as_teardown")), indent=indent),
        f"{'    ' * indent}{ends} >> {removal}",
    ]
