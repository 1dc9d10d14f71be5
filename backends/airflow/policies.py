"""Retries, time limits and locks of a step, as fields of its operator."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from couler.backends.airflow.module import Module
from couler.backends.airflow.operators import short
from couler.backends.airflow.overrides import own_arguments
from couler.backends.airflow.python import Call, call
from couler.backends.airflow.versions import NEWEST
from couler.failures import passing_reasons, passing_statuses
from couler.ir.policies import Mutex, Retry, locks_of
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Step, Workflow

PASSING_ERRORS = (
    "ConnectionError",
    "JSONDecodeError",
    "MaxRetryError",
    "PodCredentialsExpiredFailure",
    "PodLaunchTimeoutException",
    "ProtocolError",
    "TimeoutError",
    "WebSocketException",
    "XComRetrievalError",
)
"""Classes of exceptions by which operators tell of what passes.

The file of outputs is read from a sidecar: what is not whole there was cut off, and a stream that
cannot be opened is one to a pod that was ended from outside.
"""


def policy_fields(step: Step, module: Module, version: tuple[int, int]) -> dict[str, object]:
    """Return the fields of an operator that say how often and how long it runs."""
    fields: dict[str, object] = {}
    if step.retry is not None and step.retry.limit:
        fields.update(_retry(step.retry, module, version))
    if step.timeout_s is not None:
        fields["execution_timeout"] = seconds(step.timeout_s, module)
    for lock in locks_of(step):
        assert isinstance(lock, Mutex), "other locks are refused by the capabilities"
        fields["pool"] = lock.name
    return fields


def _retry(retry: Retry, module: Module, version: tuple[int, int]) -> dict[str, object]:
    backoff = retry.backoff
    fields: dict[str, object] = {"retries": retry.limit}
    first_s = 0 if backoff is None else min(backoff.seconds, backoff.cap_s or math.inf)
    fields["retry_delay"] = seconds(first_s, module)
    if backoff is not None and backoff.factor != 1:
        # Before 3.3 it says whether waits double.
        fields["retry_exponential_backoff"] = version < NEWEST or short(backoff.factor)
        if backoff.cap_s is not None:
            fields["max_retry_delay"] = seconds(backoff.cap_s, module)
    kind: str | None = retry.on[0] if len(retry.on) == 1 else None
    codes = list(retry.exit_codes) or None
    passing = None
    if kind == "transient":
        kind, passing = "error", [*PASSING_ERRORS, *passing_reasons(), *passing_statuses()]
    if kind is not None or codes is not None:
        fields["retry_policy"] = call(
            module.use("retry_if"), kind=kind, exit_codes=codes, passing=passing
        )
    return fields


def seconds(count: float, module: Module) -> Call:
    """Return a duration."""
    return call(module.take("datetime", "timedelta"), seconds=short(count))


def policy_notes(workflow: Workflow) -> Iterator[str]:
    """Yield what a run needs for its locks and parameters."""
    steps = dict(steps_by_path(workflow))
    pools = {
        lock.name for step in steps.values() for lock in locks_of(step) if lock.kind == "mutex"
    }
    for name in sorted(pools):
        yield f'pool "{name}" with one slot must exist in Airflow, or its tasks never start'
    owners: tuple[Step | Workflow, ...] = (workflow, *steps.values())
    for name in sorted({one for owner in owners for one in _own_pools(owner)} - pools):
        yield f'pool "{name}" must exist in Airflow, or its tasks never start'
    if any(parameter.config is not None for parameter in workflow.parameters):
        yield "the workers of Airflow must be allowed to list config maps"


def _own_pools(owner: Step | Workflow) -> Iterator[str]:
    """Yield the pools that overrides name: of a step, or of all tasks."""
    given = own_arguments(owner)
    shared = given.get("default_args") if isinstance(owner, Workflow) else None
    for one in (given, shared):
        pool = one.get("pool") if isinstance(one, Mapping) else None
        if isinstance(pool, str) and pool != "default_pool":
            yield pool
