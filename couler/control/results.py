"""How a run of an engine elsewhere ended, read from what is recorded of it."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from couler.control import marks
from couler.control.failing import told
from couler.ir.semantics.wire import typed
from couler.ir.serialize import read_json
from couler.ir.values import is_file
from couler.state.database import Database
from couler.state.inside import with_inside
from couler.state.records import Json, StepRecord
from couler.state.results import RunEnd, RunResult, StepResult, StepResults
from couler.state.runs import find_run, sessions_of, steps_of, workflow_of
from couler.state.source_maps import source_map_of


def result_of(
    database: Database, run_id: str, *, reused: frozenset[str] = frozenset()
) -> RunResult:
    """Return how a run that is over has ended."""
    run = find_run(database, run_id)
    began = [session.started for session in sessions_of(database, run_id)]
    steps = tuple(steps_of(database, run_id))
    source_map = source_map_of(database, run.id)
    if source_map:
        steps = with_inside(read_json(workflow_of(database, run_id)), steps)
    ends = {step.path: _step_result(step, run.engine, step.path in reused) for step in steps}
    finished = run.finished or datetime.now(UTC)
    return RunResult(
        run_id=run.id,
        workflow=run.workflow,
        status=t.cast("RunEnd", run.status),
        steps=StepResults(ends, source_map, finished) if source_map else ends,
        outputs=run.outputs,
        folder=Path(run.folder or "."),
        started=run.started or (began[0] if began else run.created),
        finished=finished,
        message=run.message,
        source_map=source_map,
        is_lost=marks.has_mark(run, marks.LOST),
    )


def _step_result(step: StepRecord, engine: str, is_reused: bool) -> StepResult:
    return StepResult(
        status=step.status,
        finished=step.finished,
        started=step.started,
        outputs=shown_outputs(step.outputs),
        attempts=step.attempts,
        message=told(step, engine),
        exit_code=step.exit_code,
        log=None if step.log is None else Path(step.log),
        reused=is_reused,
    )


def shown_outputs(stored: Mapping[str, Json]) -> dict[str, Json]:
    """Return outputs as JSON values; a file is the location where its engine keeps it."""
    return {
        name: [_shown(item) for item in value] if isinstance(value, list) else _shown(value)
        for name, value in stored.items()
    }


def _shown(item: Json) -> Json:
    if item is None or is_file(item["type"]):
        return None if item is None else item["text"]
    return typed(item["text"], item["type"])
