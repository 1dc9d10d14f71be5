"""What is known of later runs that may take the entries of an engine elsewhere."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from couler.budget.courses import cached_places
from couler.caching.asking import ask_credit
from couler.caching.later_runs import Course, LaterRuns, Lookups
from couler.caching.policy import CachePolicy
from couler.ir.serialize import read_json
from couler.ir.values import is_file
from couler.ir.walk import StepPath, without_places
from couler.state import runs
from couler.state.database import Database
from couler.state.history import End, list_ends
from couler.state.ledger import Kept
from couler.state.records import Json

_RUNS = 500
"""How many runs tell of the steps, the latest."""

_UNKNOWN_S = 1.0
"""Seconds of a step of which nobody knows any more how long it took."""


@dataclass(slots=True)
class Served:
    """What the database knows of the files that an instance of a step has given."""

    workflow: str
    path: str
    place: str
    seconds: float | None = None
    hits: int = 0
    superseded: int = 0


@dataclass(slots=True)
class Counts:
    """How often instances of a step looked for something (`couler.caching.later_runs.Lookups`)."""

    lookups: int = 0
    latest: int = 0
    older: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class SharedOutlook:
    """What recorded runs tell of the entries of an engine."""

    served: Mapping[str, Served] = field(default_factory=dict)
    lookups: Mapping[tuple[str, str], Lookups] = field(default_factory=dict)
    course: Course = field(default_factory=Course)


NOTHING_KNOWN = SharedOutlook()


@dataclass(frozen=True, slots=True)
class Found:
    """An entry as the engine tells of it, for `know`."""

    key: str
    locations: tuple[str, ...]
    size_bytes: int
    seconds: float | None
    made_at: datetime
    used_at: datetime


def read_outlook(database: Database, engine: str, run_id: str | None = None) -> SharedOutlook:
    """Return what the latest 500 recorded runs of an engine tell."""
    served: dict[str, Served] = {}
    lookups: dict[tuple[str, str], Counts] = defaultdict(Counts)
    ends = list_ends(database, engine, latest=_RUNS)
    for (workflow, path), uses in groupby(ends, key=lambda one: (one.workflow, one.path)):
        place = str(without_places(StepPath.parse(path)))
        by_locations: dict[tuple[str, ...], Served] = {}  # in the order of their last use
        counts = lookups[workflow, place]
        for end in uses:
            locations = _locations(end.outputs)
            newest = next(reversed(by_locations), None)
            of_entry = by_locations.pop(locations, None) or Served(workflow, path, place)
            by_locations[locations] = of_entry
            _count(end, of_entry, counts, is_newest=newest == locations)
        for superseded, locations in enumerate(reversed(by_locations)):
            by_locations[locations].superseded = superseded
            served.update(dict.fromkeys(locations, by_locations[locations]))
    return SharedOutlook(served, lookups, _course(database, run_id))


def know(
    entries: list[Found], policy: CachePolicy, capacity_bytes: int, outlook: SharedOutlook
) -> LaterRuns:
    """Return what a policy is told of entries, by their keys."""
    by_age = sorted(entries, key=lambda one: (one.made_at, one.key))
    by_use = sorted(entries, key=lambda one: (one.used_at, one.key))
    made = {one.key: number for number, one in enumerate(by_age, 1)}
    kept = [_kept(one, made[one.key], used, outlook) for used, one in enumerate(by_use, 1)]

    def known() -> LaterRuns:
        return LaterRuns(
            capacity_bytes,
            None,
            lambda: kept,
            lambda: outlook.lookups,
            clock=len(kept) + 1,
            course=outlook.course,
        )

    asked = known()
    kept = [one._replace(credit=ask_credit(policy, one.key, asked)) for one in kept]
    return known()


def _kept(one: Found, made: int, used: int, outlook: SharedOutlook) -> Kept:
    told = next((outlook.served[at] for at in one.locations if at in outlook.served), None)
    recorded = Served("", one.key, one.key) if told is None else told
    known_s = recorded.seconds if one.seconds is None else one.seconds
    return Kept(
        key=one.key,
        workflow=recorded.workflow,
        path=recorded.path,
        place=recorded.place,
        run_id="",
        size_bytes=one.size_bytes,
        cost_s=_UNKNOWN_S if known_s is None else known_s,
        hits=max(recorded.hits, int(one.used_at > one.made_at)),
        pinned=False,
        admitted=made,
        used=used,
        superseded=recorded.superseded,
        credit=0.0,
    )


def _count(end: End, served: Served, counts: Counts, *, is_newest: bool) -> None:
    counts.lookups += 1
    if end.status != "cached":
        served.seconds, counts.seconds = end.seconds, end.seconds or 0.0
        return
    served.hits += 1
    if is_newest:
        counts.latest += 1
    else:
        counts.older += 1


def _locations(outputs: Mapping[str, Json]) -> tuple[str, ...]:
    return tuple(
        output["text"]
        for output in outputs.values()
        if isinstance(output, Mapping) and is_file(output["type"])
    )


def _course(database: Database, run_id: str | None) -> Course:
    if run_id is None:
        return Course()
    workflow = read_json(runs.workflow_of(database, run_id))
    ranks = cached_places(workflow)
    places = (
        str(without_places(StepPath.parse(step.path)))
        for step in reversed(runs.steps_of(database, run_id))
    )
    return Course(workflow.name, ranks, next((one for one in places if one in ranks), ""))
