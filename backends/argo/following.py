"""Following a run: its Workflow now and whenever it changes, over connections that break."""

from __future__ import annotations

import math
import time
import typing as t
from collections.abc import Callable, Iterator

from couler.backends.argo.family import Family
from couler.backends.argo.status_nodes import is_over
from couler.backends.argo.workflow_api import WorkflowApi
from couler.backends.remote import Json
from couler.rest.client import RestError
from couler.rest.patience import Patience, Waits

AWAY = Patience(first_s=0.5, cap_s=15.0, total_s=300.0)
"""How long a server may be away before nobody follows any more."""

POLLING = Patience(first_s=2.0, cap_s=15.0, total_s=math.inf)
"""How long to wait between two looks where changes are not told, or the telling breaks at once."""

_GONE = 410
"""The version is too old."""

_NO_WATCH = (403, 404, 405, 501)
"""Codes of servers that tell no changes; the account may read what it may not watch."""

_BUSY = (429, 500, 502, 503, 504)

Begin: t.TypeAlias = Callable[[Patience], Waits]


def changes(
    api: WorkflowApi | Family,
    name: str,
    *,
    away: Patience = AWAY,
    polling: Patience = POLLING,
    begin: Begin = Patience.begin,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Json]:
    """Yield a Workflow now and whenever it has changed, until it is over."""
    return _Following(api, name, away, polling, begin, clock).run()


class _Following:
    def __init__(
        self,
        api: WorkflowApi | Family,
        name: str,
        away: Patience,
        polling: Patience,
        begin: Begin,
        clock: Callable[[], float],
    ) -> None:
        self._api = api
        self._name = name
        self._away, self._polling = away, polling
        self._begin, self._clock = begin, clock
        self._version: str | None = None
        """The version up to which all is told; None where a new look is needed."""
        self._pauses = begin(polling)

    def run(self) -> Iterator[Json]:
        while True:
            workflow = self._look()
            yield workflow
            if is_over(workflow):
                return
            while self._version is not None:
                for workflow in self._told(self._version):
                    yield workflow
                    if is_over(workflow):
                        return

    def _told(self, since: str) -> Iterator[Json]:
        """Yield what one stream of changes tells, and prepare for what comes after it."""
        begun, count = self._clock(), 0
        try:
            for change in self._api.watch(self._name, since):
                self._version, count = change.version, count + 1
                if change.workflow is not None:
                    yield change.workflow
        except RestError as error:
            if error.code not in (None, 401, _GONE, *_NO_WATCH, *_BUSY):
                raise
            if error.code == _GONE:
                self._version = None
        if count or self._clock() - begun > self._polling.first_s:
            self._pauses = self._begin(self._polling)
        else:
            # Streams that break at once tell nothing: then it is looked at now and then.
            self._pauses.wait()
            self._version = None

    def _look(self) -> Json:
        away = self._begin(self._away)
        while True:
            try:
                workflow, self._version = self._api.snapshot(self._name)
                return workflow
            except RestError as error:
                if error.code not in (None, *_BUSY) or not away.wait():
                    raise
