"""Task instances as Airflow tells of them, and what their states are in words of the IR."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from couler.backends.remote import ENDS, StepState

Instance: t.TypeAlias = tuple[str, int]
"""The id of a task and its map index, -1 for one that is not mapped."""

Status: t.TypeAlias = StepState | None
"""None stands for what has not begun."""

BAD: frozenset[Status] = frozenset({"failed", "omitted"})

_STATES: Mapping[str, StepState] = {
    "scheduled": "waiting",
    "queued": "waiting",
    "running": "running",
    "restarting": "running",
    "up_for_reschedule": "running",
    "deferred": "running",
    "up_for_retry": "retrying",
    "awaiting_input": "suspended",
    "success": "succeeded",
    "failed": "failed",
    "skipped": "skipped",
    "upstream_failed": "omitted",
}
"""Others are of tasks that the DAG has no more, or that are not scheduled."""


@dataclass(frozen=True, slots=True)
class Task:
    """What Airflow tells of a task instance."""

    state: str | None
    tries: int = 1
    started: datetime | None = None
    finished: datetime | None = None
    ran: bool = True

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return _STATES.get(self.state or "") in ENDS


_LOOKS_FOR = timedelta(seconds=10)
"""How long a task takes at most until it knows whether to run; its worker begins a process."""


class TaskTable:
    """The task instances of a run."""

    def __init__(
        self, tasks: Mapping[Instance, Task], *, has_failed: bool, was_cancelled: bool
    ) -> None:
        self.tasks = tasks
        self._has_failed, self._was_cancelled = has_failed, was_cancelled
        self._below: dict[str, list[Instance]] = {}
        for name, index in tasks:
            place = name
            while place:
                self._below.setdefault(place, []).append((name, index))
                place = place.rpartition(".")[0]

    def status(self, instance: Instance) -> Status:
        """Return how a task instance stands."""
        task = self.tasks.get(instance)
        if task is None or task.state is None:
            return None
        if not task.ran:
            is_left_out = task.state == "skipped" and self._has_failed
            if is_left_out or (task.state == "failed" and self._was_cancelled):
                return "omitted"
        elif self._was_cancelled and task.state == "skipped" and task.tries > 1:
            return "failed"  # it waited for its next try
        return _STATES.get(task.state)

    def is_decided(self, instance: Instance, *, is_retried: bool) -> bool:
        """Return whether a task instance surely does not just look whether it is to run."""
        task = self.tasks.get(instance)
        if task is None or task.state != "running" or task.started is None:
            return True
        if is_retried and task.tries > 1:
            return True
        return datetime.now(UTC) - task.started > _LOOKS_FOR

    def has_state(self, instance: Instance) -> bool:
        """Return whether a task instance is there and of the DAG as it is."""
        task = self.tasks.get(instance)
        return task is not None and task.state not in (None, "removed")

    def within(self, base: str, index: int = -1) -> list[Instance]:
        """Return the task instances of a task or group; those of an item, if it is in one."""
        return [one for one in self._below.get(base, ()) if index in (-1, one[1])]

    def statuses(self, instances: Iterable[Instance]) -> set[Status]:
        """Return how several stand."""
        return {self.status(one) for one in instances}

    def times(self, instance: Instance) -> tuple[datetime | None, datetime | None]:
        """Return when a task instance began and ended, as far as it has."""
        task, status = self.tasks.get(instance), self.status(instance)
        if task is None or status is None or status == "waiting":
            return None, None
        began = None if status == "omitted" or not task.ran else task.started
        return began, task.finished if status in ENDS else None


def is_open(statuses: Collection[Status]) -> bool:
    """Return whether one of several has not ended."""
    return not all(one in ENDS for one in statuses)


def open_status(statuses: Collection[Status]) -> StepState:
    """Return how something stands of whose parts one has not ended."""
    begun = {one for one in statuses if one is not None}
    return "waiting" if begun == {"waiting"} else "running"
