"""What is expected of later runs, on cases worked by hand."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

import pytest

from couler.caching.later_runs import Course, LaterRuns, chance_of_use


@dataclass(frozen=True)
class Made:
    key: str
    workflow: str = "train"
    path: str = "fit[0]"
    place: str = "fit"
    size_bytes: int = 100
    cost_s: float = 8.0
    hits: int = 0
    admitted: int = 1
    used: int = 1
    superseded: int = 0
    credit: float = 0.5


class Counted(t.NamedTuple):
    lookups: int
    latest: int
    older: int
    seconds: float = 1.0


def knowledge(
    *kept: Made, offered: Made | None = None, clock: int = 10, here: str = ""
) -> LaterRuns:
    ranks = {"load": 0, "clean": 1, "fit": 2, "test": 3}
    lookups = {("train", "fit"): Counted(8, 6, 1)}
    course = Course("train", ranks, here)
    return LaterRuns(1000, offered, lambda: kept, lambda: lookups, clock=clock, course=course)


@pytest.mark.parametrize(
    ("uses", "superseded", "chance"),
    [
        (None, 0, 1 / 2),
        (None, 3, 1 / 16),
        (Counted(8, 6, 1), 0, 7 / 10),  # 6 of 8, and one of 2 before
        (Counted(8, 6, 1), 1, 2 / 10 / 2),
        (Counted(8, 6, 1), 2, 2 / 10 / 4),
        (Counted(8, 0, 8), 0, 1 / 10),
    ],
)
def test_chances(uses: Counted | None, superseded: int, chance: float) -> None:
    assert chance_of_use(uses, superseded) == pytest.approx(chance)


@pytest.mark.parametrize(
    ("here", "gap"),
    [
        ("load", 2),  # in this run
        ("clean", 1),
        ("fit", 4),  # just made: in the next run
        ("test", 3),
        ("elsewhere", 4),  # a place without a cache, or unknown
    ],
)
def test_a_running_workflow_comes_to_the_step_in_its_order(here: str, gap: int) -> None:
    known = knowledge(Made("a"), here=here)
    assert known.distance("a") == pytest.approx(gap + (10 / 7 - 1) * 4)


def test_a_workflow_that_does_not_run_comes_back_as_late_as_it_has_been_away() -> None:
    known = knowledge(Made("a", workflow="other", used=4), clock=10)
    assert known.distance("a") == pytest.approx(6 / 0.5)


def test_what_is_offered_is_known_before_it_is_kept() -> None:
    offered = Made("new", used=11, cost_s=3.0)
    known = knowledge(Made("a", used=4, hits=2, admitted=3), offered=offered, clock=11, here="fit")
    assert (known.cost_s("new"), known.uses("new"), known.last_used("new")) == (3.0, 1, 11)
    assert (known.cost_s("a"), known.uses("a"), known.last_used("a")) == (8.0, 3, 4)
    assert (known.admitted("a"), known.credit("a"), known.size_bytes("a")) == (3, 0.5, 100)
    assert (known.capacity_bytes, known.age) == (1000, 0.0)


def passing(*kept: Made, offered: Made | None = None) -> LaterRuns:
    """Return what is told of `load` of 5 s, `clean` of 3 s and `fit`, which is never passed."""
    course = Course(
        "train",
        {"load": 0, "clean": 1, "fit": 2},
        "clean",
        {"load": ("clean",), "clean": ("fit",)},
    )
    lookups = {
        ("train", "load"): Counted(8, 7, 0, 5.0),
        ("train", "clean"): Counted(8, 7, 0, 3.0),
        ("train", "fit"): Counted(8, 3, 0, 8.0),
    }
    return LaterRuns(1000, offered, lambda: kept, lambda: lookups, clock=10, course=course)


def at(
    place: str, *, key: str = "", used: int = 1, superseded: int = 0, cost_s: float = 8.0
) -> Made:
    return Made(
        key or place, "train", place, place, 100, cost_s, 0, used, used, superseded=superseded
    )


def test_what_lies_before_what_is_kept_is_expected_seldom() -> None:
    load, clean = at("load", used=1), at("clean", used=2)
    assert passing(load).readers_left("load") == pytest.approx(0.8)
    assert passing(load, clean).readers_left("load") == pytest.approx(0.8 / 9)
    assert passing(load, clean).distance("load") == pytest.approx(2 + (9 / 0.8 - 1) * 3)


def test_what_is_offered_counts_as_kept() -> None:
    """What it would take the place of is worth little, as it stands for that, too."""
    known = passing(at("load", used=1), offered=at("clean", used=10, cost_s=3.0))
    assert known.readers_left("load") == pytest.approx(0.8 / 9)
    assert known.cost_s("clean") == 3.0


def test_what_would_have_to_run_first_is_part_of_the_cost() -> None:
    assert passing(at("fit")).cost_s("fit") == pytest.approx(8 + 3 + 5)
    assert passing(at("fit"), at("clean")).cost_s("fit") == 8
    assert passing(at("clean", cost_s=3.0)).reconstruction("clean", "repaired") == 3 + 5


def test_what_others_superseded_is_asked_for_by_itself() -> None:
    old, new = at("load", key="old", superseded=1), at("load", used=3)
    known = passing(old, new, at("clean", used=4))
    assert known.readers_left("old") == pytest.approx(0.1 / 2)
    assert known.readers_left("load") == pytest.approx(0.8 / 9)


def test_items_and_other_workflows_are_needed_whenever_they_are_asked_for() -> None:
    item = Made("item", "train", "load[0]", "load")
    other = Made("other", "else", "load", "load")
    known = passing(item, other, at("clean", used=4))
    assert (known.readers_left("item"), known.cost_s("item")) == (pytest.approx(0.8), 8)
    assert (known.readers_left("other"), known.cost_s("other")) == (0.5, 8)
