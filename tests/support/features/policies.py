"""Policies: a minimal workflow for each rule of how a step is run."""

from __future__ import annotations

import typing as t

from couler.ir.features import Feature
from couler.ir.policies import Backoff, Cache, DatabaseSemaphore, Mutex, Part, Retry, Semaphore
from couler.ir.storage import ConfigKey
from couler.ir.workflow import Workflow
from tests.support.sample_flows import A, echo, flow, group, one_step


def _retries(**fields: t.Any) -> Workflow:
    return one_step(retry=Retry(limit=2, **fields))


SEMAPHORE = Semaphore(
    limit=ConfigKey(config_map="limits", key="gpus", optional=True), namespace="shared"
)

POLICIES: dict[Feature, Workflow] = {
    Feature.RETRY: _retries(),
    Feature.RETRY_BACKOFF: _retries(backoff=Backoff(seconds=1)),
    Feature.RETRY_ON_ONE_KIND: _retries(on=("error",)),
    Feature.RETRY_EXIT_CODES: _retries(exit_codes=(137,)),
    Feature.RETRY_GROUP: flow(group("g", echo("a"), retry=Retry(limit=2))),
    Feature.RETRY_MAX_DURATION: _retries(backoff=Backoff(seconds=1, max_duration_s=60)),
    Feature.RETRY_OTHER_NODE: _retries(other_node=True),
    Feature.RETRY_TRANSIENT: _retries(on=("transient",)),
    Feature.TIMEOUT: one_step(timeout_s=60),
    Feature.TIMEOUT_GROUP: flow(group("g", echo("a"), timeout_s=60)),
    Feature.CACHE: one_step(cache=Cache()),
    Feature.CACHE_MAX_AGE: one_step(cache=Cache(max_age_s=60)),
    Feature.MUTEX: one_step(mutex="one-at-a-time"),
    Feature.MUTEX_DATABASE: one_step(locks=(Mutex(name="one-at-a-time", database=True),)),
    Feature.SEMAPHORE: one_step(locks=(SEMAPHORE,)),
    Feature.SEMAPHORE_DATABASE: one_step(locks=(DatabaseSemaphore(key="gpus"),)),
    Feature.LOCK_NAMESPACE: one_step(locks=(Mutex(name="one-at-a-time", namespace="shared"),)),
    Feature.WORKFLOW_LOCK: flow(echo("a"), locks=(Mutex(name="one-at-a-time"), SEMAPHORE)),
    Feature.MAX_PARALLEL: flow(echo("a"), max_parallel=1),
    Feature.MAX_PARALLEL_GROUP: flow(group("g", echo("a"), max_parallel=1)),
    Feature.PART: flow(echo("a", part=Part(group="first")), echo("b", A, part=Part(group="last"))),
    Feature.PART_RUN: flow(echo("a", part=Part(run="first")), echo("b", A, part=Part(run="last"))),
}
