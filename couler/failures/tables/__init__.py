"""The table of failures. A failure is the first row that fits, so the narrower row stands first."""

from __future__ import annotations

from couler.failures.pattern import Pattern
from couler.failures.tables import (
    airflow,
    api,
    argo,
    containers,
    etcd,
    images,
    jobs,
    network,
    pods,
    scheduling,
    storage,
    training,
)

PATTERNS: tuple[Pattern, ...] = (
    *etcd.PATTERNS,
    *argo.PATTERNS,
    *airflow.PATTERNS,
    *network.CERTIFICATES,
    *images.PATTERNS,
    *containers.PATTERNS,
    *scheduling.PATTERNS,
    *pods.PATTERNS,
    *jobs.PATTERNS,
    *api.QUOTAS,
    *storage.PATTERNS,
    *training.PATTERNS,
    *api.ANSWERS,
    *network.PATTERNS,
    *pods.BY_EXIT_CODE,
)
"""All rows, in the order in which they are tried."""

POD_REASONS: frozenset[str] = frozenset(
    reason
    for table in (images, containers, scheduling, pods, jobs)
    for pattern in table.PATTERNS
    for one in pattern.signs
    for reason in one.reasons
)
"""Reasons of pods, containers and jobs, which engines put into their messages."""
