"""What people are told beside a DAG file: what it needs, and what has no effect there."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.connections import connections
from couler.backends.airflow.options import Options
from couler.backends.airflow.policies import policy_notes
from couler.ir.needs import Need, needs
from couler.ir.pods import PodOptions, PodSettings
from couler.ir.walk import all_steps
from couler.ir.workflow import Workflow


def notes(workflow: Workflow, options: Options) -> Iterator[str]:
    """Yield what must exist where the workflow runs, and what Airflow does in its own way."""
    names = connections(options)
    accounts = {pod.service_account for pod in _pods(workflow)}
    for need in needs(workflow):
        if need.kind == "secret" and need.name in names:
            yield f'connection "{need.name}"{_entries(need)} must exist in Airflow'
        elif need.kind != "service account" or need.name in accounts:
            yield str(need)
    yield from policy_notes(workflow)
    yield from _without_effect(workflow)


def _entries(need: Need) -> str:
    return f" with {', '.join(need.keys)}" if need.keys else ""


def _without_effect(workflow: Workflow) -> Iterator[str]:
    runs = {step.part.run or "" for step in workflow.steps if step.part is not None} - {""}
    if runs:
        yield (
            f"parts with runs of their own ({len(runs)}): shown as groups of tasks; all are of one "
            "DAG and run as one"
        )
    for name in sorted({pod.executor_service_account or "" for pod in _pods(workflow)} - {""}):
        yield (
            f'executor_service_account "{name}": no effect; the worker starts and watches pods by '
            "an account of its own, and pods have no container of the engine that needs one"
        )


def _pods(workflow: Workflow) -> Iterator[PodOptions]:
    yield workflow.pod or PodSettings()
    for step in all_steps(workflow):
        if step.pod is not None:
            yield step.pod
