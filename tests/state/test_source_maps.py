"""Where the steps of a program are is kept with each run, and for each workflow that it has had."""

from __future__ import annotations

from dataclasses import replace

import sqlalchemy as sa

from couler.ir.source_map import NO_CHANGE, SourceMap
from couler.state import (
    Database,
    begin_session,
    create_run,
    delete_run,
    find_run,
    source_map_of,
)
from couler.state.runs import restore_run
from couler.state.tables import source_maps
from tests.state.samples import DIGEST, IR, NOON, RUN

MAP = SourceMap({"b": ("a",), "train-7": ("train[7]",)}, {"gone": "for nothing"})
OTHER = SourceMap({"c": ("a",)})


def rows(database: Database) -> int:
    with database.read() as connection:
        found: int = connection.execute(
            sa.select(sa.func.count()).select_from(source_maps)
        ).scalar_one()
    return found


def begin(database: Database, digest: str, source_map: SourceMap) -> int:
    return begin_session(
        *(database, RUN.id),
        pid=1,
        host="h",
        started=NOON,
        workflow_digest=digest,
        ir_json=IR,
        source_map=source_map,
    )


def test_another_workflow_has_another_map(database: Database) -> None:
    create_run(database, RUN, IR, source_map=MAP)
    begin(database, "c" * 64, NO_CHANGE)
    assert not source_map_of(database, RUN.id)
    begin(database, "c" * 64, OTHER)
    assert source_map_of(database, RUN.id) == OTHER
    begin(database, DIGEST, MAP)
    assert source_map_of(database, RUN.id) == MAP
    begin(database, DIGEST, NO_CHANGE)  # another program that comes to the same
    assert not source_map_of(database, RUN.id)


def test_a_run_that_is_restored_has_its_map_again(database: Database) -> None:
    create_run(database, RUN, IR, source_map=MAP)
    before = find_run(database, RUN.id)
    number = begin(database, "c" * 64, OTHER)
    restore_run(database, before, number)
    assert source_map_of(database, RUN.id) == MAP


def test_it_goes_with_the_run(database: Database) -> None:
    create_run(database, RUN, IR, source_map=MAP)
    create_run(database, replace(RUN, id="other"), IR, source_map=OTHER)
    delete_run(database, RUN.id)
    assert rows(database) == 1
    assert source_map_of(database, "other") == OTHER
