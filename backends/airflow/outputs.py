"""Outputs: those that are read without being declared, and those of the workflow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from couler.backends.airflow.module import Module
from couler.backends.airflow.operators import PYTHON
from couler.backends.airflow.places import own_name
from couler.backends.airflow.python import Call, Code, call, quoted, value_of
from couler.backends.airflow.reading import Scope, typed
from couler.ir.code_files import own_inputs
from couler.ir.values import RoundRef, StepRef, Value, children, walk
from couler.ir.workflow import STDOUT, Container, Group, Http, Output, Script, Step, Workflow

RUN_OUTPUTS = "run-outputs"
"""The id of the task that returns the outputs of a workflow."""
CHECK_OUTPUTS = "check-outputs"
"""The id of the task that evaluates them before exit handlers, where they can be refused."""


class Implied(Output):
    """The standard output of a step that something reads and nothing declares."""


def as_written(step: Step) -> Step:
    """Return a step without the outputs that are implied, and without the archive of its code."""
    written = tuple(one for one in step.outputs if not isinstance(one, Implied))
    return step.model_copy(update={"inputs": own_inputs(step), "outputs": written})


def declare_results(workflow: Workflow) -> Workflow:
    """Return a workflow whose steps declare the standard output that something reads."""
    handlers = [step for handler in workflow.exit_handlers for step in handler.steps]
    others = [one.value for one in workflow.outputs]
    others += [value for step in handlers for value in children(step)]
    steps = _declared(workflow.steps, others)
    exits = tuple(
        handler.model_copy(update={"steps": _declared(handler.steps, ())})
        for handler in workflow.exit_handlers
    )
    return workflow.model_copy(update={"steps": steps, "exit_handlers": exits})


def _declared(steps: Sequence[Step], others: Iterable[Value | None]) -> tuple[Step, ...]:
    read = {name for value in others for name in _results(value)}
    for step in steps:
        for value in children(step):
            read.update(_results(value, own=step.name))
    return tuple(_with_result(step, step.name in read) for step in steps)


def _results(value: Value | None, own: str = "") -> Iterable[str]:
    """Yield the steps whose `result` a value reads; `own` is that of an earlier round."""
    for inner in walk(value):
        if isinstance(inner, StepRef | RoundRef) and inner.output == STDOUT:
            yield inner.step if isinstance(inner, StepRef) else own


def _with_result(step: Step, is_read: bool) -> Step:
    action = step.action
    if isinstance(action, Group):
        inner = _declared(action.steps, [one.value for one in step.outputs])
        return step.model_copy(update={"action": action.model_copy(update={"steps": inner})})
    declared = any(output.name == STDOUT for output in step.outputs)
    if is_read and not declared and isinstance(action, Container | Script | Http):
        return step.model_copy(update={"outputs": (*step.outputs, Implied())})
    return step


def run_outputs(
    workflow: Workflow, scope: Scope, module: Module, checked: str | None = None
) -> Call:
    """Return the task that returns the outputs of the workflow."""
    codes = {
        one.name: scope.result(one)
        if checked is None
        else typed(f"output(ti, {quoted(checked)}, {quoted(one.name)})", one.type)
        for one in workflow.outputs
    }
    return call(
        module.take(PYTHON, "PythonOperator"),
        task_id=own_name(RUN_OUTPUTS, workflow),
        python_callable=Code(module.outputs("outputs_of_run", codes)),
    )


def check_outputs(workflow: Workflow, scope: Scope, module: Module) -> Call:
    """The task that evaluates the outputs of the workflow, and fails where the steps have."""
    codes = {one.name: scope.given(one) for one in workflow.outputs}
    leaves = value_of(scope.all_leaves(workflow.steps)).flat()
    function = module.outputs("given_outputs", codes, f"check_end({leaves}, ti)")
    return call(
        module.take(PYTHON, "PythonOperator"),
        task_id=own_name(CHECK_OUTPUTS, workflow),
        python_callable=Code(function),
        trigger_rule="all_done",
    )
