"""What the cache decided: of each run as long as the run is known, and all of it as counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

import sqlalchemy as sa

from couler.state.records import CacheDecision
from couler.state.tables import cache_counts, cache_decisions


def record_decisions(
    connection: sa.Connection, run_id: str | None, decisions: Iterable[CacheDecision]
) -> None:
    """Record what was decided in a run; None if it was between runs, and is counted alone."""
    if run_id is None:
        _add_counts(connection, Counter(decision.decision for decision in decisions))
        return
    rows = [
        {
            "run_id": run_id,
            "path": decision.path,
            "key": decision.key,
            "decision": decision.decision,
            "reason": decision.reason,
            "at": decision.at,
        }
        for decision in decisions
    ]
    if rows:
        connection.execute(sa.insert(cache_decisions), rows)


def count_decisions(connection: sa.Connection) -> Counter[str]:
    """Return how often what was decided, in all runs that there were and between them."""
    counts = _recorded(connection, sa.true())
    query = sa.select(cache_counts.c.decision, cache_counts.c.times)
    for decision, times in connection.execute(query):
        counts[decision] += times
    return counts


def keep_counts(connection: sa.Connection, run_id: str) -> None:
    """Keep how often what was decided in a run that is about to be deleted."""
    _add_counts(connection, _recorded(connection, cache_decisions.c.run_id == run_id))


def _add_counts(connection: sa.Connection, counts: Mapping[str, int]) -> None:
    table = cache_counts.c
    for decision, times in counts.items():
        mine = table.decision == decision
        changed = sa.update(cache_counts).where(mine).values(times=table.times + times)
        if connection.execute(changed).rowcount == 0:
            row = {"decision": decision, "times": times}
            connection.execute(sa.insert(cache_counts).values(row))


def _recorded(connection: sa.Connection, wanted: sa.ColumnElement[bool]) -> Counter[str]:
    decision = cache_decisions.c.decision
    query = sa.select(decision, sa.func.count()).where(wanted).group_by(decision)
    return Counter({kind: times for kind, times in connection.execute(query)})  # noqa: C416  # rows, which dict() is not typed for
