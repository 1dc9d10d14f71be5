"""What Airflow cannot do with the policies and the texts of a step, beyond features."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.jobs import belongs_to_run
from couler.backends.airflow.versions import NEWEST
from couler.ir.diagnostics import Diagnostic
from couler.ir.locks import locks_of
from couler.ir.storage import NewClaimVolume
from couler.ir.walk import steps_by_path
from couler.ir.wire import MAX_WORD_BYTES
from couler.ir.workflow import Group, Job, Script, Step, Workflow

POOL_CODE = "CLR345"
TIMEOUT_CODE = "CLR346"
RETRY_CODE = "CLR347"
SCRIPT_CODE = "CLR348"

SCRIPT_VARIABLE = "COULER_SCRIPT"
"""The variable by which a script reaches the wrapper that runs it."""


def check_values(workflow: Workflow, version: tuple[int, int]) -> Iterator[Diagnostic]:
    """Yield what the policies and scripts of a workflow ask for in vain."""
    after = " and ".join(_after_the_steps(workflow))
    if workflow.timeout_s is not None and after:
        message = (
            f"airflow: the workflow has a time limit and {after}, but Airflow ends a run that is "
            "too late without what comes after its steps. Limit the time of the steps."
        )
        yield Diagnostic(TIMEOUT_CODE, message, source=workflow.source)
    for path, step in steps_by_path(workflow):
        for code, message in _problems(step, version):
            yield Diagnostic(code, f'airflow: step "{path}" {message}', path, step.source)


def _after_the_steps(workflow: Workflow) -> Iterator[str]:
    """Yield what of a workflow asks for tasks after all steps."""
    if workflow.exit_handlers:
        yield "exit handlers"
    if any(isinstance(one, NewClaimVolume) for one in workflow.volumes):
        yield "new claims"
    if workflow.runs is not None and workflow.runs.disruption_budget is not None:
        yield "a disruption budget"
    actions = [step.action for _, step in steps_by_path(workflow)]
    if any(isinstance(one, Job) and belongs_to_run(one) for one in actions):
        yield "jobs that are deleted with the run"


def _problems(step: Step, version: tuple[int, int]) -> Iterator[tuple[str, str]]:
    locks = locks_of(step)
    if len(locks) > 1:
        yield POOL_CODE, f"holds {len(locks)} locks, but a task has one pool. Take one lock."
    if locks and isinstance(step.action, Group):
        yield POOL_CODE, "is a group with a lock, but tasks have pools. Give the steps in it locks."
    if version < NEWEST:
        yield from _retry_problems(step)
    if isinstance(step.action, Script):
        size = len(f"{SCRIPT_VARIABLE}={step.action.source}".encode())
        if size > MAX_WORD_BYTES:
            message = (
                f"has a script of {size:,} bytes, but at most {MAX_WORD_BYTES:,} reach a pod in "
                "one variable. Put the code into the image."
            )
            yield SCRIPT_CODE, message


def _retry_problems(step: Step) -> Iterator[tuple[str, str]]:
    retry = step.retry
    if retry is None or not retry.limit:
        return
    if retry.exit_codes or len(retry.on) == 1:
        message = (
            "is tried again after some failures only, which Airflow can tell since 3.3. "
            "Compile for that version, or retry after all."
        )
        yield RETRY_CODE, message
    if retry.backoff is not None and retry.backoff.factor not in (1, 2):
        message = (
            f"has waits that grow by the factor {retry.backoff.factor:g}, but before 3.3 they "
            "double. Take 2, or 1 for waits of the same length."
        )
        yield RETRY_CODE, message
