"""The few back-offs that rows share."""

from __future__ import annotations

from couler.failures.backoff import Backoff

QUICK = Backoff(first_s=1, factor=2, cap_s=30, tries=5)
"""What failed by chance: another try mostly succeeds at once."""

BUSY = Backoff(first_s=5, factor=2, cap_s=120, tries=8)
"""A server that has too much to do, for minutes."""

SLOW = Backoff(first_s=30, factor=2, cap_s=600, tries=8)
"""What people or other workloads must free: about an hour."""

LONG = Backoff(first_s=300, factor=2, cap_s=1800, tries=6)
"""A limit that is counted by the hour."""

FEW = Backoff(first_s=10, factor=3, cap_s=90, tries=3)
"""What may pass, but mostly is a mistake."""
