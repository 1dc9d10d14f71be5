"""Tables and statements are of no database alone."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from couler.ir.source_map import SourceMap
from couler.state import (
    Database,
    Journal,
    RunRecord,
    attempts_of,
    begin_session,
    cache_decisions_of,
    create_run,
    delete_run,
    find_run,
    list_runs,
    send_signal,
    sessions_of,
    source_map_of,
    steps_of,
    take_signals,
    workflow_of,
)
from couler.state.records import RunStatus
from couler.state.tables import JsonText, UtcTime, metadata
from couler.state.upsert import upsert
from tests.state.samples import DECISION, IR, NOON, RUN, STEP

DIALECTS = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}


@pytest.mark.parametrize("table", metadata.sorted_tables, ids=str)
def test_tables_are_made_in_postgresql(table: sa.Table) -> None:
    made = str(sa.schema.CreateTable(table).compile(dialect=DIALECTS["postgresql"]))
    assert not [kind for kind in ("JSON", "DATETIME", "BLOB") if f" {kind}" in made]
    assert ("TIMESTAMP WITH TIME ZONE" in made) == (
        any(isinstance(column.type, UtcTime) for column in table.columns)
    )
    assert made.count("BIGSERIAL") == (table.name == "cache_decisions")


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("table", metadata.sorted_tables, ids=str)
def test_upserts_have_the_same_form(table: sa.Table, name: str) -> None:
    text = str(upsert(table, DIALECTS[name]).compile(dialect=DIALECTS[name]))
    keys = ", ".join(column.name for column in table.primary_key)
    assert f"ON CONFLICT ({keys}) DO " in text.replace('"', "")
    assert "DO NOTHING" in str(upsert(table, DIALECTS[name], update=()))


def use_everything(database: Database) -> None:
    create_run(database, RUN, IR, source_map=SourceMap({"b": ("a",)}))
    session = begin_session(database, RUN.id, pid=1, host="h", started=NOON, parameters={"a": 1})
    begin_session(
        *(database, RUN.id),
        pid=1,
        host="h",
        started=NOON,
        workflow_digest="c" * 64,
        ir_json=IR,
    )
    with Journal(database, RUN.id, session) as journal:
        journal.attempt_started("fit", 1, started=NOON)
        journal.step_ended(STEP)
        journal.forget_inside("train[2]")
        journal.cache_decided(DECISION)
        journal.attempt_ended("fit", 7, status="error", finished=NOON)
        journal.run_updated(status="failed", message="m", outputs={}, finished=NOON)
        journal.session_ended("failed")
        journal.flush()
    for text in (RUN.id, "train", "latest"):
        find_run(database, text)
    status: RunStatus = "failed"
    list_runs(database, limit=1, workflow="train", status=status)
    workflow_of(database, RUN.id)
    source_map_of(database, RUN.id)
    sessions_of(database, RUN.id)
    steps_of(database, RUN.id)
    attempts_of(database, RUN.id, path="fit", status="running")
    cache_decisions_of(database, RUN.id)
    send_signal(database, RUN.id, "gate", "resume")
    take_signals(database, RUN.id)
    delete_run(database, RUN.id)


def test_every_statement_is_known_to_postgresql(database: Database) -> None:
    kinds: set[type] = set()
    plain: list[str] = []

    def note(_connection: object, clause: sa.ClauseElement, *_rest: object) -> None:
        kinds.add(type(clause))
        if not isinstance(clause, sqlite.Insert):  # test_upserts_have_the_same_form
            assert clause.compile(dialect=DIALECTS["postgresql"])

    def note_text(_connection: object, _cursor: object, text: str, *_rest: object) -> None:
        plain.append(text)

    sa.event.listen(database._engine, "before_execute", note)
    sa.event.listen(database._engine, "before_cursor_execute", note_text)
    use_everything(database)
    assert {sa.Select, sa.Insert, sa.Update, sa.Delete} <= kinds
    words = {word for text in plain for word in text.upper().split()}
    assert not words & {"LIKE", "GLOB", "REPLACE", "PRAGMA", "ROWID", "IFNULL"}


@pytest.mark.parametrize("name", DIALECTS)
def test_times_have_a_zone(name: str) -> None:
    process = UtcTime().dialect_impl(DIALECTS[name]).bind_processor(DIALECTS[name])
    assert process is not None
    with pytest.raises(ValueError, match="has no time zone"):
        process(datetime(2026, 3, 1))  # noqa: DTZ001  # the point


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": object()}, {1, 2}])
def test_what_is_no_json_is_refused(value: object) -> None:
    process = JsonText().dialect_impl(DIALECTS["sqlite"]).bind_processor(DIALECTS["sqlite"])
    assert process is not None
    with pytest.raises((ValueError, TypeError)):
        process(value)


def test_order_of_text_is_the_order_of_time(
    database: Database, add_run: Callable[..., RunRecord]
) -> None:
    for number in range(3):
        add_run(f"r{number}")
    assert [run.id for run in list_runs(database)] == ["r2", "r1", "r0"]
