"""What recorded runs tell of entries elsewhere, and what policies make of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta

import pytest

from couler.caching.later_runs import Course, LaterRuns
from couler.caching.policies.next_use import NextUseDensity
from couler.control.shared_outlook import Found, SharedOutlook, know, read_outlook
from couler.state import open_database
from tests.state.samples import NOON
from tests.support.recorded_runs import RecordedRuns


@pytest.fixture
def runs() -> Iterator[RecordedRuns]:
    with open_database("sqlite://") as opened:
        yield RecordedRuns(opened)


def at(location: str) -> dict[str, str]:
    return {"text": location, "type": "file"}


def found(location: str, *, seconds: float | None = 10.0, used: int = 0) -> Found:
    """An entry of a file of 100 bytes, used some hours after it was made."""
    return Found(location, (location,), 100, seconds, NOON, NOON + timedelta(hours=used))


def least(outlook: SharedOutlook, *entries: Found) -> str:
    """Which entry is worth least to the default policy."""
    policy = NextUseDensity()
    known = know([*entries], policy, 1000, outlook)
    assert isinstance(known, LaterRuns)
    return min(entries, key=lambda one: policy.worth(one.key, known)).key


def test_uses_are_counted_by_what_runs_took(runs: RecordedRuns) -> None:
    runs.add("argo", {"make[0]": 7.0}, {"make[0]": at("a")})
    runs.add("argo", {"make[0]": 0.0}, {"make[0]": at("a")}, status="cached")
    runs.add("argo", {"make[0]": 9.0}, {"make[0]": at("b")})
    runs.add("argo", {"make[0]": 0.0}, {"make[0]": at("a")}, status="cached")
    runs.add("argo", {"make[1]": 1.0}, {"make[1]": at("c")})
    runs.add("airflow", {"make[1]": 1.0}, {"make[1]": at("d")})
    outlook = read_outlook(runs.database, "argo")
    assert {name: asdict(one) for name, one in outlook.served.items()} == {
        name: {
            "workflow": "train",
            "path": path,
            "place": "make",
            "seconds": seconds,
            "hits": hits,
            "superseded": superseded,
        }
        for name, path, seconds, hits, superseded in (
            ("a", "make[0]", 7, 2, 0),
            ("b", "make[0]", 9, 0, 1),
            ("c", "make[1]", 1, 0, 0),
        )
    }
    counts = outlook.lookups["train", "make"]
    assert (counts.lookups, counts.latest, counts.older) == (5, 1, 1)
    assert outlook.course == Course()


def test_steps_that_find_what_they_need_are_worth_more(runs: RecordedRuns) -> None:
    for number in range(4):
        runs.add(
            "argo",
            {"steady": 0.0, "new": 5.0},
            {"steady": at("s"), "new": at(f"n{number}")},
            status="cached" if number else "succeeded",
        )
    outlook = read_outlook(runs.database, "argo")
    assert outlook.served["s"].hits == 3
    assert least(outlook, found("s", used=1), found("n3", used=1)) == "n3"
