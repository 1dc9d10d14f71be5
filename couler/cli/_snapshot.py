"""How a run stands: what the database tells of it, put in the places of its workflow."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from couler.cli.format import time_text
from couler.errors import ArtifactError, WireError
from couler.ir.graph import Graph
from couler.ir.grouped import GROUPED
from couler.ir.semantics.wire import decode
from couler.ir.serialize import read_json
from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.values import is_file
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath
from couler.ir.workflow import Group, Step, Suspend, Workflow

if t.TYPE_CHECKING:
    from couler.state import AttemptRecord, Database, Home, RunRecord, ShownStatus, StepRecord

SCHEMA_VERSION = 2
"""Version of the JSON that `Snapshot.to_json` gives; its steps are those of `RunResult.to_json`."""

ACTIVE = ("running", "retrying", "suspended")
"""States of steps that have begun and not ended, in a run that goes on."""

_RAN = ("succeeded", "failed", "error")
"""States of attempts that ended by themselves."""


@dataclass(frozen=True, slots=True)
class StepView:
    """How an instance of a step stands."""

    path: StepPath
    status: str
    started: datetime | None = None
    finished: datetime | None = None
    attempts: int = 0
    message: str | None = None
    exit_code: int | None = None
    log: str | None = None
    outputs: Mapping[str, t.Any] | None = None
    cpu_s: float | None = None
    peak_bytes: int | None = None
    source_run: str | None = None
    node: str | None = None
    asks: tuple[str, ...] = ()

    def elapsed_s(self, now: datetime) -> float | None:
        """Return how long it has taken so far; None if nobody knows."""
        if self.started is None or (self.finished is None and self.status == "interrupted"):
            return None
        return ((self.finished or now) - self.started).total_seconds()

    def to_json(self) -> dict[str, t.Any]:
        """Return the view as JSON."""
        last = self.path[-1]
        return {
            "path": str(self.path),
            "name": last.name,
            "item": last.item,
            "round": last.round,
            "status": self.status,
            "message": self.message,
            "attempts": self.attempts,
            "exit_code": self.exit_code,
            "started": None if self.started is None else time_text(self.started),
            "finished": None if self.finished is None else time_text(self.finished),
            "log": self.log,
            "outputs": dict(self.outputs or {}),
            "cpu_s": self.cpu_s,
            "peak_bytes": self.peak_bytes,
            "source_run": self.source_run,
            "node": self.node,
        }


@dataclass(frozen=True, slots=True)
class Snapshot:
    """How a run stood when it was looked at."""

    run: RunRecord
    status: ShownStatus
    steps: tuple[StepView, ...]
    critical: frozenset[str]
    source_map: SourceMap = NO_CHANGE

    @property
    def is_over(self) -> bool:
        """Whether nobody works on the run."""
        return self.status != "running"

    def to_json(self) -> dict[str, t.Any]:
        """Return the snapshot as JSON."""
        from couler.state.results import source_map_json

        run = self.run
        ends = {str(step.path): step for step in self.steps} if self.source_map else {}
        return {
            "schema_version": SCHEMA_VERSION,
            "run": run.id,
            "workflow": run.workflow,
            "engine": run.engine,
            "target": None if run.target is None else run.target.get("name"),
            "status": self.status,
            "message": run.message,
            "started": None if run.started is None else time_text(run.started),
            "finished": None if run.finished is None else time_text(run.finished),
            "folder": run.folder,
            "outputs": dict(run.outputs),
            "steps": [step.to_json() for step in self.steps],
            "source_map": source_map_json(self.source_map, ends, "waiting"),
        }


def take_snapshot(database: Database, home: Home, run_id: str) -> Snapshot:
    """Look at a run."""
    from couler.state import (
        attempts_of,
        find_run,
        sessions_of,
        shown_status,
        source_map_of,
        steps_of,
        workflow_of,
    )
    from couler.state.inside import with_inside

    run = find_run(database, run_id)
    status = shown_status(run)
    # What ends between these two is seen as ended: the record of a step counts more.
    attempts = attempts_of(database, run.id)
    records = tuple(steps_of(database, run.id))
    session = max((one.number for one in sessions_of(database, run.id)), default=1)
    workflow = read_json(workflow_of(database, run.id))
    records = with_inside(workflow, records)
    source_map = source_map_of(database, run.id)
    reader = _Reader(workflow, home, status, session, source_map)
    views = tuple(reader.views(records, attempts))
    return Snapshot(run, status, views, critical_steps(workflow), source_map)


def critical_steps(workflow: Workflow) -> frozenset[str]:
    """Return the names of the steps on the longest path; none if all of them are on it."""
    profiles = {step.name: step.profile for step in workflow.steps}

    def seconds(name: str) -> float:
        profile = profiles[name]
        return 1.0 if profile is None or profile.seconds is None else profile.seconds

    path, _ = Graph.of(workflow.steps).critical_path(seconds)
    return frozenset(path) if len(path) < len(profiles) else frozenset()


class _Reader:
    def __init__(
        self,
        workflow: Workflow,
        home: Home,
        status: ShownStatus,
        session: int,
        source_map: SourceMap,
    ) -> None:
        from couler.store import ObjectStore

        self._is_running = status == "running"
        self._unended = status if status in ("running", "cancelled") else "interrupted"
        self._has_ended = status not in ("running", "interrupted")
        self._session = session
        self._store = ObjectStore(home.store_url)
        self._steps: dict[tuple[str, ...], tuple[Step | None, tuple[int, ...]]] = {}
        self._place(workflow.steps, (), ())
        for index, handler in enumerate(workflow.exit_handlers, len(self._steps)):
            names, order = (HANDLER_PREFIX + handler.name,), (index,)
            self._steps[names] = (None, order)
            self._place(handler.steps, names, order)
        self._own = [names for names in self._steps if len(names) == 1]
        self._place_inside(source_map)

    def views(
        self, records: Iterable[StepRecord], attempts: Iterable[AttemptRecord]
    ) -> Iterator[StepView]:
        """Yield how each instance stands, each below what it is in."""
        tried: dict[str, list[AttemptRecord]] = defaultdict(list)
        for attempt in attempts:
            tried[attempt.path].append(attempt)
        ended = {record.path: record for record in records}
        found: dict[StepPath, StepView] = {}
        for text in ended.keys() | tried.keys():
            path = StepPath.parse(text)
            if _names(path) not in self._steps:  # a changed workflow may have it no more
                continue
            if text not in ended and self._has_ended and tried[text][-1].status in _RAN:
                continue  # an item that the run has had, and does not have any more
            found[path] = self._view(path, ended.get(text), tried.get(text, []))
        for path in tuple(found):
            self._add_wholes(path, found)
        for names in self._own:
            path = StepPath((PathPart(names[0]),))
            found.setdefault(path, StepView(path, "waiting"))
        for path in sorted(found, key=self._order):
            yield found[path]

    def _view(
        self, path: StepPath, record: StepRecord | None, tried: list[AttemptRecord]
    ) -> StepView:
        known = StepView(path, "waiting")
        if tried:
            spent = [one.cpu_s for one in tried if one.cpu_s is not None]
            peaks = [one.peak_bytes for one in tried if one.peak_bytes is not None]
            known = replace(
                known,
                attempts=tried[-1].number,
                log=tried[-1].log,
                cpu_s=sum(spent) if spent else None,
                peak_bytes=max(peaks, default=None),
                node=tried[-1].node,
            )
        if record is None or (tried and tried[-1].session > record.session):
            return self._view_tried(known, tried)
        is_to_come = (
            self._is_running
            and record.session < self._session
            and record.status not in ("succeeded", "cached")
        )
        if is_to_come:
            return known
        if record.status in ("skipped", "omitted"):  # what an earlier session tried is no try of it
            known = StepView(path, record.status)
        return replace(
            known,
            status=record.status,
            started=record.started,
            finished=record.finished,
            attempts=max(record.attempts, known.attempts),
            message=record.message,
            exit_code=record.exit_code,
            log=record.log or known.log,
            outputs=self._show_all(record.outputs),
            source_run=record.source_run,
        )

    def _view_tried(self, known: StepView, tried: list[AttemptRecord]) -> StepView:
        """Return how an instance stands that was tried and has no end."""
        last = tried[-1]
        if self._is_running and last.session < self._session:
            return known
        begun = next(one.started for one in tried if one.session == last.session)
        known = replace(known, started=begun, message=last.message, exit_code=last.exit_code)
        if not self._is_running:
            return replace(known, status=self._unended, finished=last.finished)
        if last.status in ("failed", "error"):
            return replace(known, status="retrying")
        step, _ = self._steps[_names(known.path)]
        action = None if step is None else step.action
        waits = isinstance(action, Suspend) and action.seconds is None
        if waits and last.status == "running":
            message = action.message if isinstance(action, Suspend) else None
            outputs = () if step is None else step.outputs
            asks = tuple(one.name for one in outputs if one.default is None)
            return replace(known, status="suspended", message=message, asks=asks)
        return replace(known, status="running")

    def _add_wholes(self, path: StepPath, found: dict[StepPath, StepView]) -> None:
        """Add what an instance is in and has no record yet: groups, foreachs, loops."""
        inner = found[path]
        if inner.status == "waiting":
            return
        for whole in _wholes(path):
            known = found.get(whole)
            if known is not None and known.status != self._unended:
                if known.status != "waiting":
                    continue
                known = None
            begun = inner.started or inner.finished
            if known is None:
                found[whole] = StepView(whole, self._unended, started=begun)
            elif known.started and begun and begun < known.started:
                found[whole] = replace(known, started=begun)

    def _show_all(self, outputs: Mapping[str, t.Any]) -> dict[str, t.Any]:
        return {
            name: [self._show(item) for item in stored]
            if isinstance(stored, list)
            else self._show(stored)
            for name, stored in outputs.items()
        }

    def _show(self, item: t.Any) -> t.Any:
        """Return a value as JSON has it; the path of a file."""
        if item is None:
            return None
        text, value_type = item["text"], item["type"]
        try:
            if is_file(value_type):
                return str(self._store.local_path(text) or text)
            return decode(text, value_type)
        except (WireError, ArtifactError):
            return text

    def _place(
        self, steps: tuple[Step, ...], names: tuple[str, ...], order: tuple[int, ...]
    ) -> None:
        for index, step in enumerate(steps):
            is_hidden = isinstance(step.action, Group) and step.action.transparent
            inner = names if is_hidden else (*names, step.name)
            place = (*order, index)
            if not is_hidden:
                self._steps[inner] = (step, place)
            if isinstance(step.action, Group):
                self._place(step.action.steps, inner, place)

    def _place_inside(self, source_map: SourceMap) -> None:
        """Put steps that run inside of others below these, beside which they are told of."""
        for number, (path, places) in enumerate(source_map.steps.items()):
            for place in places:
                step, order = self._steps.get(_names(StepPath.parse(place)), (None, ()))
                if step is not None and step.origin == GROUPED:
                    self._steps[_names(StepPath.parse(path))] = (None, (*order, number))

    def _order(self, path: StepPath) -> list[tuple[tuple[int, ...], int, int]]:
        return [
            (
                self._steps[_names(path[: depth + 1])][1],
                -1 if part.item is None else part.item,
                -1 if part.round is None else part.round,
            )
            for depth, part in enumerate(path)
        ]


def _names(path: tuple[PathPart, ...]) -> tuple[str, ...]:
    return tuple(part.name for part in path)


def _wholes(path: StepPath) -> Iterator[StepPath]:
    """Yield what a place is in: its loop, its foreach, its group, and what that is in."""
    while path:
        *outer, last = path
        if last.round is not None:
            yield StepPath((*outer, last._replace(round=None)))
        if last.item is not None:
            yield StepPath((*outer, PathPart(last.name)))
        path = path.parent
        if path:
            yield path


def depth_of(path: StepPath) -> int:
    """Return how many others a place is in."""
    return sum(1 for _ in _wholes(path))


def utc_now() -> datetime:
    """Return the time in UTC."""
    return datetime.now(UTC)
