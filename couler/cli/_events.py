"""The events of a run as lines of JSON, for programs that follow it."""

from __future__ import annotations

import contextlib
import json
import sys
import typing as t
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

import click

from couler.cli.format import time_text
from couler.cli.session import Session, writing
from couler.ir.source_map import SourceMap
from couler.stages import RunEvent, RunResult

SCHEMA_VERSION = 1
"""Version of the objects."""

STANDARD_OUTPUT = "-"

events_option = click.option(
    "--events",
    type=click.Path(dir_okay=False, allow_dash=True),
    metavar="FILE",
    help="Write what happens as lines of JSON; - is standard output, which then has no outputs.",
)


@dataclass(slots=True)
class EventLog:
    """Writes one object a line, each at once."""

    file: t.TextIO
    workflow: str
    source_map: SourceMap
    run: str | None = None
    fault: OSError | None = None

    def tell(self, event: RunEvent) -> None:
        """Write an event of a step; the run has started with the first."""
        self._begin(event.run)
        last = event.path[-1]
        self._write(
            f"step-{event.kind}",
            path=str(event.path),
            name=last.name,
            item=last.item,
            round=last.round,
            status=event.status,
            attempt=event.attempt,
            message=event.message,
            log=None if event.log is None else str(event.log),
            source_steps=list(self.source_map.sources(event.path)),
        )

    def end(self, result: RunResult) -> None:
        """Write how the run ended."""
        self._begin(result.run_id)
        self._write(
            "run-finished",
            workflow=self.workflow,
            status=result.status,
            message=result.message,
            folder=str(result.folder),
            outputs=dict(result.outputs),
        )

    def break_off(self, message: str) -> None:
        """Write that the engine ended before the run did."""
        if self.run is not None:
            self._write(
                "run-finished",
                workflow=self.workflow,
                status="interrupted",
                message=message,
                outputs={},
            )

    def _begin(self, run: str) -> None:
        if self.run is None:
            self.run = run
            self._write("run-started", workflow=self.workflow, status="running")

    def _write(self, event: str, **fields: object) -> None:
        if self.fault is not None:
            return
        told = {
            "schema_version": SCHEMA_VERSION,
            "time": time_text(datetime.now(UTC)),
            "run": self.run,
            "event": event,
            **fields,
        }
        try:
            self.file.write(json.dumps(told, ensure_ascii=False) + "\n")
            self.file.flush()
        except OSError as error:
            self.fault = error


@contextmanager
def open_events(
    session: Session, file: str | None, workflow: str, source_map: SourceMap
) -> Iterator[EventLog | None]:
    """Give what writes events to a file, None if nobody wants them."""
    if file is None:
        yield None
        return
    if file == STANDARD_OUTPUT:
        log = EventLog(sys.stdout, workflow, source_map)
        yield log
    else:
        with writing("--events", file):
            stream = open(file, "w", encoding="utf-8")  # noqa: SIM115  # closed below
        log = EventLog(stream, workflow, source_map)
        try:
            yield log
        finally:
            with contextlib.suppress(OSError):  # what could not be written fails again here
                stream.close()
    if log.fault is not None and not isinstance(log.fault, BrokenPipeError):
        session.complain(f"warning: the events are not complete: {file}: {log.fault.strerror}")
