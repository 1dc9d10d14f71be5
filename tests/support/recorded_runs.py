"""Runs in a database, as engines record them, for what is asked of earlier runs."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.ir.walk import StepPath
from couler.state import Database, Journal, begin_session, create_run
from couler.state.records import StepStatus
from tests.state.samples import IR, NOON, RUN, STEP

TEXT = {"text": "1234", "type": "str"}


class RecordedRuns:
    """Records runs, each a day after the one before."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.count = 0

    def add(
        self,
        engine: str,
        seconds: Mapping[str, float],
        outputs: Mapping[str, object] | None = None,
        source_map: SourceMap = NO_CHANGE,
        status: StepStatus = "succeeded",
        workflow: str = "train",
        ir: str = IR,
        node: str | None = None,
    ) -> str:
        """Record a run with what its instances took, by path, and return its name.

        An instance of which no output is given gave a text of 4 bytes.
        """
        self.count += 1
        run_id, began = f"run-{self.count}", NOON + timedelta(days=self.count)
        target = None if engine == "local" else {"engine": engine}
        run = replace(
            RUN,
            id=run_id,
            engine=engine,
            target=target,
            created=began,
            workflow=workflow,
            workflow_digest=hashlib.sha256(ir.encode()).hexdigest(),
        )
        create_run(self.database, run, ir, source_map=source_map)
        session = begin_session(self.database, run_id, pid=1, host="h", started=began)
        with Journal(self.database, run_id, session) as journal:
            for path, lasted in seconds.items():
                ended = began + timedelta(seconds=lasted)
                journal.attempt_started(path, 1, started=began, node=node)
                journal.attempt_ended(path, 1, status="succeeded", finished=ended)
                journal.step_ended(
                    replace(
                        STEP,
                        path=path,
                        name=StepPath.parse(path)[-1].name,
                        session=session,
                        started=began,
                        finished=ended,
                        status=status,
                        outputs={"o": (outputs or {}).get(path, TEXT)},
                    )
                )
            journal.flush()
        return run_id
