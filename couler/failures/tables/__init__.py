"""The table of failures. A failure is the first row that fits, so the narrower row stands first."""

from __future__ import annotations

from couler.failures.pattern import Pattern
from couler.failures.tables import airflow, api, argo, etcd, pods

PATTERNS: tuple[Pattern, ...] = (
    *etcd.PATTERNS,
    *argo.PATTERNS,
    *airflow.PATTERNS,
    *pods.PATTERNS,
    *api.QUOTAS,
    *api.ANSWERS,
    *pods.BY_EXIT_CODE,
)
"""All rows, in the order in which they are tried."""
