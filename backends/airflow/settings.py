"""What a workflow says of its runs and of all its tasks, as arguments of its DAG."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends.airflow.flow_checks import task_count
from couler.backends.airflow.module import Module
from couler.backends.airflow.options import Options
from couler.backends.airflow.overrides import own_arguments
from couler.backends.airflow.python import Call, Code, Expression, call, value_of
from couler.ir.walk import all_steps
from couler.ir.workflow import Schedule, Workflow

SCHEDULED_WITHIN_S = 86400
"""How long a pod may wait for a node, unless its step says it: Kubernetes would wait for ever."""
STARTED_WITHIN_S = 3600
"""How long it may then take to start: images with drivers and models are large."""
_HEAVY = 2_000
"""From so many tasks on, none is weighed by those behind it (`benchmarks/airflow_limits.py`)."""
CLEANUPS = {"pod_completion": "delete_pod", "pod_success": "delete_succeeded_pod"}
"""When pods are deleted, by what the operator calls it."""


def dag_settings(
    workflow: Workflow, module: Module, options: Options, common: Mapping[str, object]
) -> dict[str, object]:
    """Return the arguments of the DAG of a workflow, with what its tasks have in common."""
    schedule = workflow.schedule
    fields: dict[str, object] = {
        "dag_id": workflow.name,
        "description": workflow.description,
        "schedule": Code("None") if schedule is None else _timetable(schedule, module),
        "catchup": None if schedule is None else False,
        "default_args": value_of({**_default_args(workflow, options), **common}),
        "tags": tags(workflow) or None,
        "doc_md": _annotations(workflow),
    }
    if schedule is not None and schedule.concurrency == "forbid":
        fields["max_active_runs"] = 1
    if schedule is not None and schedule.suspended:
        fields["is_paused_upon_creation"] = True
    return fields


def tags(workflow: Workflow) -> list[str]:
    """Return the labels of a workflow as Airflow has them."""
    return [f"{name}:{value}" if value else name for name, value in workflow.labels.items()]


def _timetable(schedule: Schedule, module: Module) -> Call:
    name = "CronTriggerTimetable" if len(schedule.cron) == 1 else "MultipleCronTriggerTimetable"
    # Of a DAG that has not run yet, each reading of its file sets the next time anew: a shorter one
    # leaves out the first run where the file is read just before the scheduler makes it. A longer
    # one, such as Airflow's own, starts more that has gone by when the DAG is switched on.
    late = call(module.take("datetime", "timedelta"), minutes=1)
    return call(
        module.take("airflow.sdk", name),
        *schedule.cron,
        timezone=schedule.timezone,
        run_immediately=late,
    )


def _default_args(workflow: Workflow, options: Options) -> dict[str, object]:
    given: dict[str, object] = {
        "retries": 0,
        "trigger_rule": "none_failed",
        "schedule_timeout_seconds": SCHEDULED_WITHIN_S,
        "startup_timeout_seconds": STARTED_WITHIN_S,
    }
    if options.namespace is not None:
        given["namespace"] = options.namespace
    runs = workflow.runs
    if runs is not None and runs.pod_cleanup is not None:
        given["on_finish_action"] = CLEANUPS[runs.pod_cleanup.when]
    if runs is not None and runs.priority is not None:
        given |= {"priority_weight": runs.priority, "weight_rule": "absolute"}
    elif _has_priorities(workflow):
        # What is said of no step is 0, and Airflow's own rule adds up weights of tasks behind it.
        given |= {"priority_weight": 0, "weight_rule": "absolute"}
    elif _is_slow_to_weigh(workflow):
        given["weight_rule"] = "absolute"
    return given


def _has_priorities(workflow: Workflow) -> bool:
    return any(
        step.placement is not None and step.placement.priority is not None
        for step in all_steps(workflow)
    )


def _is_slow_to_weigh(workflow: Workflow) -> bool:
    """Return whether Airflow's own weights, which count all tasks behind each, take too long."""
    handled = (step for one in workflow.exit_handlers for step in one.steps)
    if task_count([*workflow.steps, *handled], within_mapped=False) < _HEAVY:
        return False
    return not any("priority_weight" in own_arguments(step) for step in all_steps(workflow))


def _annotations(workflow: Workflow) -> Expression | None:
    if not workflow.annotations:
        return None
    lines = [f"- `{name}`: {value}\n" for name, value in workflow.annotations.items()]
    return value_of("".join(lines))
