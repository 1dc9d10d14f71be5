"""What Airflow would refuse of jobs, pauses and container sets."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.lower import order
from couler.backends.airflow.options import Options
from couler.backends.airflow.paths import read_path
from couler.ir.actions import ContainerSet
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import scopes
from couler.ir.workflow import Job, Step, Suspend, Workflow

APPROVAL_CODE = "CLR355"
PATH_CODE = "CLR356"
CONTAINERS_CODE = "CLR357"

FIRST_WITH_APPROVAL = (3, 1)
"""The first version in which a person can answer a task."""


def check_steps(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield what steps ask for that tasks cannot do."""
    is_too_old = options.version < FIRST_WITH_APPROVAL
    version = ".".join(map(str, options.version))
    if workflow.suspended and is_too_old:
        yield Diagnostic(
            APPROVAL_CODE,
            f"airflow: the workflow waits for a person before its first step, for which Airflow "
            f"{version} has no task. Compile for Airflow 3.1 or later, or leave suspended= out.",
            source=workflow.source,
        )
    for scope in scopes(workflow):
        for step in scope.steps:
            path = scope.path_of(step)
            match step.action:
                case Suspend(seconds=None) if is_too_old:
                    yield _problem(
                        APPROVAL_CODE,
                        f'step "{path}" waits for a person, for which Airflow {version} has no '
                        "task. Compile for Airflow 3.1 or later, or wait for some seconds.",
                        path,
                        step,
                    )
                case Job():
                    yield from _check_job(step, path)
                case ContainerSet():
                    yield from _check_set(step, step.action, path)


def _check_job(step: Step, path: str) -> Iterator[Diagnostic]:
    for output in step.outputs:
        if output.json_path is not None and read_path(output.json_path) is None:
            yield _problem(
                PATH_CODE,
                f'outputs.{output.name} of step "{path}" has the json_path {output.json_path}; for '
                "Airflow it is one path in braces: names, places in lists, [*], and filters such "
                'as [?(@.type=="Ready")].',
                path,
                step,
            )


def _check_set(step: Step, containers: ContainerSet, path: str) -> Iterator[Diagnostic]:
    if order(containers) is None:
        yield _problem(
            CONTAINERS_CODE,
            f'step "{path}" has containers that run beside the last, or after it; a pod of Airflow '
            "has one that all others run before. Let the last depend on all others, or make "
            "steps of them.",
            path,
            step,
        )
    last = ordered[1] if (ordered := order(containers)) else None
    if last is not None and not last.command and (step.inputs or step.outputs):
        yield _problem(
            CONTAINERS_CODE,
            f'step "{path}" takes or gives values by the container "{last.name}", which has no '
            "command: Airflow puts a wrapper around it and has to know it. Give the command.",
            path,
            step,
        )
    if containers.retry is not None:
        yield _problem(
            CONTAINERS_CODE,
            f'step "{path}" runs a container of its pod again after it has failed, which Airflow '
            "does not. Retry the step.",
            path,
            step,
        )


def _problem(code: str, message: str, path: str, step: Step) -> Diagnostic:
    return Diagnostic(code, f"airflow: {message}", step=path, source=step.source)
