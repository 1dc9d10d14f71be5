"""What a test lets go wrong in an emulated cluster."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.fakes.kubernetes.store import ApiError, Json

FOREVER = 1 << 30


@dataclass(frozen=True)
class RequestFault:
    """Refuses requests whose method and path match, the first `times` ones."""

    method: str
    path: str
    """A regular expression that must match somewhere in the path."""
    code: int = 500
    times: int = FOREVER
    message: str = "refused by the test"
    cut: Literal["before", "after", "within", "never"] | None = None
    """Where the connection ends instead: before the request is done, after it, or within the
    answer; with "never" there is no answer until the client itself ends it."""
    watch: bool | None = None
    """Only streams of changes, or only what is none."""
    after: int | None = None
    """Of a stream: how many changes, or lines of a log, are told before. Without `cut` a stream of
    changes then ends with an error of `code`."""
    retry_after: str | None = None
    """What the refusal says of when to come again."""


@dataclass(frozen=True)
class PodFault:
    """What happens to a pod. Pods are those with all `labels`, the first `times` of them."""

    labels: dict[str, str] = field(default_factory=dict)
    times: int = FOREVER
    unschedulable: bool = False
    """The pod is never given a node."""
    pending_s: float = 0.0
    """How long the pod waits before it starts."""
    evict_after_s: float | None = None
    """The node takes the pod back so long after its start."""
    out_of_memory_after_s: float | None = None
    """The first container is killed for its use of memory so long after its start."""
    vanish_after_s: float | None = None
    """The pod is gone, without a trace in the API, so long after its start."""
    once_there: Path | None = None
    """Nothing happens to a pod that has started until there is this file."""


class CutOffError(Exception):
    """The connection of a request is to end, as a fault says."""


class Faults:
    """The faults of a cluster. They can be set while it runs."""

    def __init__(self, *faults: RequestFault | PodFault) -> None:
        self._lock = threading.Lock()
        self._left = [[fault, fault.times] for fault in faults]

    def add(self, fault: RequestFault | PodFault) -> None:
        with self._lock:
            self._left.append([fault, fault.times])

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        with self._lock:
            self._left.clear()

    def of_request(self, method: str, path: str, *, watch: bool = False) -> RequestFault | None:
        """Raise what a request meets, or return what its answer meets."""
        fault = self._take(
            RequestFault,
            lambda one: (
                one.method == method
                and one.watch in (None, watch)
                and re.search(one.path, path) is not None
            ),
        )
        if fault is not None and fault.cut is None and fault.after is None:
            raise ApiError(fault.code, "TestFault", fault.message, fault.retry_after)
        if fault is not None and fault.cut in ("before", "never"):
            raise CutOffError(fault.cut)
        found: RequestFault | None = fault
        return found

    def of_pod(self, pod: Json) -> PodFault:
        """What a pod meets."""
        labels = pod["metadata"].get("labels") or {}
        return self._take(PodFault, lambda one: one.labels.items() <= labels.items()) or PodFault()

    def _take(self, kind: type, fits: Callable[[Any], bool]) -> Any:
        with self._lock:
            for entry in self._left:
                fault, left = entry
                if isinstance(fault, kind) and left > 0 and fits(fault):
                    entry[1] = left - 1
                    return fault
        return None
