"""What the next run needs of what is kept, on cases worked by hand."""

from __future__ import annotations

import pytest

from couler.caching.later_runs import LEAST_NEED, Demand, Standing

CHAIN = {"load": ("clean",), "clean": ("scale",), "scale": ("fit",)}
ORDER = ["load", "clean", "scale", "fit"]


def chain(**kept: tuple[int, int]) -> Demand:
    """Return the demand in a chain of 1, 2, 4 and 8 seconds, of which `fit` is never passed."""
    latest = {"load": 9998, "clean": 9998, "scale": 9998, "fit": 2499}
    standings = {
        place: Standing(latest[place], float(2**number), *kept.get(place, (None, None)))
        for number, place in enumerate(ORDER)
    }
    return Demand(CHAIN, standings, ORDER)


def needs(demand: Demand) -> list[float]:
    return [demand.need(place) for place in ORDER]


def waits(demand: Demand) -> list[float]:
    return [demand.before_s(place) for place in ORDER]


def test_what_lies_before_something_kept_is_hardly_needed() -> None:
    demand = chain(scale=(3, 3))
    # A run that asks for the last table asks for the last scaled one too, which is there.
    assert needs(demand) == pytest.approx([LEAST_NEED, LEAST_NEED, 1, 1], rel=0.1)
    assert waits(demand) == [0, 1, 3, 0]


def test_what_is_passed_itself_covers_what_it_reads() -> None:
    """Of the clean table nothing is kept, but it is needed only where the scaled one is."""
    demand = chain(load=(1, 1), fit=(4, 4))
    assert demand.need("scale") == pytest.approx(0.75)
    assert demand.need("clean") == pytest.approx(1 - 0.9999 * 0.25)
    assert demand.need("load") == pytest.approx(1 - 0.9999 * 0.9999 * 0.25)


@pytest.mark.parametrize(("used", "need"), [(5, 1.0), (7, LEAST_NEED)])
def test_what_was_made_of_something_older_covers_nothing(used: int, need: float) -> None:
    """A table was made anew at use 6; the clean one is of before, until it is used again."""
    assert chain(load=(6, 6), clean=(2, used)).need("load") == need


def test_age_is_handed_on_through_what_is_not_kept() -> None:
    assert chain(load=(6, 6), scale=(3, 3)).need("load") == 1
    assert chain(load=(2, 2), scale=(3, 3)).need("load") == pytest.approx(LEAST_NEED, rel=0.1)


def diamond(**kept: tuple[int, int]) -> Demand:
    """Return the demand where two read a table of 10 seconds, and nobody passes those two."""
    standings = {
        "table": Standing(798, 10.0, *kept.get("table", (None, None))),
        "left": Standing(399, 1.0, *kept.get("left", (None, None))),
        "right": Standing(599, 1.0, *kept.get("right", (None, None))),
    }
    return Demand({"table": ("left", "right")}, standings, ["table", "left", "right"])


def test_what_runs_for_another_reader_anyway_is_no_loss() -> None:
    assert diamond().before_s("left") == 0
    # In half of the runs that ask for the table the left one is kept and needs nothing of it; so
    # in the other half it runs for the left one, whatever is kept of the right one.
    assert diamond(left=(2, 2)).before_s("right") == pytest.approx(0.5 * 10)
    assert diamond(left=(2, 2), table=(1, 1)).before_s("right") == 0


def test_unknown_places_are_needed_and_wait_for_nothing() -> None:
    demand = Demand({}, {}, ["alone"])
    assert (demand.need("alone"), demand.before_s("alone")) == (1, 0)
    assert (demand.need("elsewhere"), demand.before_s("elsewhere")) == (1, 0)
