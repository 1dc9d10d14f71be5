"""What Airflow would refuse of jobs, pauses and container sets."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.jobs import read_path
from couler.backends.airflow.lower import order
from couler.backends.airflow.options import Options
from couler.backends.airflow.suspend import keeps_worker
from couler.backends.airflow.versions import NEWEST
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import locks_of
from couler.ir.values import ParamRef, RunRef, Value, place_text, walk
from couler.ir.walk import Scope, scopes, steps_by_path
from couler.ir.workflow import ContainerSet, Group, Job, Step, Suspend, Workflow

APPROVAL_CODE = "CLR355"
PATH_CODE = "CLR356"
CONTAINERS_CODE = "CLR357"
BOUND_CODE = "CLR358"
NAME_CODE = "CLR359"

Names = dict[tuple[str, ...], set[str]]
"""Names of inputs, by the path of the group that has them."""

FIRST_WITH_APPROVAL = (3, 1)
"""The first version in which a person can answer a task."""


def check_sets(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield what sets of containers ask for that a pod of Airflow cannot do."""
    for path, step in steps_by_path(workflow):
        if isinstance(step.action, ContainerSet):
            yield from _check_set(step, step.action, path)


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
    ids: Names = {}
    for scope in scopes(workflow):
        ids.update(_run_ids(scope, ids))
        for step in scope.steps:
            path = scope.path_of(step)
            yield from _check_bounds(step, path, options.version)
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
                    yield from _check_name(step, step.action, path, ids.get(scope.path, set()))


def _check_bounds(step: Step, path: str, version: tuple[int, int]) -> Iterator[Diagnostic]:
    """Yield the bounds of a step that waits without a worker and is not counted meanwhile."""
    action = step.action
    are_items_counted = False
    if isinstance(action, Suspend):
        are_items_counted = action.seconds is None and version >= NEWEST
        if keeps_worker(action, step.timeout_s):
            return
        what = "waits for a person" if action.seconds is None else "pauses for more than a minute"
    elif isinstance(action, Job):
        what = "is a job"
    else:
        return
    if locks_of(step):
        yield _problem(
            BOUND_CODE,
            f'step "{path}" {what} and holds a lock, but while a task waits without a worker '
            "Airflow gives its slot in the pool to others. Leave the lock out, and order the steps "
            "that must not run at the same time by depends_on.",
            path,
            step,
        )
    is_bounded = step.foreach is not None and step.foreach.max_parallel is not None
    if is_bounded and not are_items_counted:
        yield _problem(
            BOUND_CODE,
            f'step "{path}" {what} and bounds how many items run at a time, but Airflow does not '
            "count a task that waits without a worker. Leave max_parallel out, and let the cluster "
            "bound what runs, as by a resource quota or a queue.",
            path,
            step,
        )


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


def _check_name(step: Step, job: Job, path: str, ids: set[str]) -> Iterator[Diagnostic]:
    """Yield the names and labels that have the id of the run, which can be no part of them."""
    for given in job.values:
        *parents, field = given.path
        is_name = parents[-1:] == ["metadata"] and field in ("name", "generateName")
        is_label = parents[-2:] == ["metadata", "labels"]
        if (is_name or is_label) and _is_of_run_id(given.value, ids):
            yield _problem(
                NAME_CODE,
                f'step "{path}" has the id of the run in {place_text(given.path)}, and one of '
                "Airflow, such as manual__2026-01-31T09:00:00+00:00, has letters that no name and "
                "no label of Kubernetes can have. Begin the name by generateName, and put the id "
                "into an annotation.",
                path,
                step,
            )


def _run_ids(scope: Scope, known: Names) -> Names:
    """Return for the groups of a scope the inputs that have the id of the run."""
    here = known.get(scope.path, set())
    return {
        (*scope.path, step.name): {
            one.name
            for one in step.inputs
            if one.value is not None and _is_of_run_id(one.value, here)
        }
        for step in scope.steps
        if isinstance(step.action, Group)
    }


def _is_of_run_id(value: Value, inputs: set[str]) -> bool:
    return any(
        (isinstance(one, RunRef) and one.field == "id")
        or (isinstance(one, ParamRef) and one.name in inputs)
        for one in walk(value)
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
