"""Items of a foreach and the lists gathered from them."""

from __future__ import annotations

import pytest

from couler.errors import EvaluationError, WireError
from couler.ir.policies import Foreach
from couler.ir.semantics.values import Gathered, RunFacts, Single, View, foreach_items, gather
from couler.ir.values import MAX_LIST_BYTES
from tests.corpus.build import param, ref, value

VIEW = View(
    RunFacts("w-1", "2026-01-02T03:04:05+00:00"),
    parameters={"long": Single(f"[{'0,' * 1000}0]", "list"), "two": Single("[1, 2]", "str")},
    steps={"some": {"result": Gathered((Single("1.50", "float"), None))}},
)


def over(**lists: object) -> Foreach:
    return Foreach(over={name: value(items) for name, items in lists.items()})


def test_items_side_by_side() -> None:
    assert foreach_items(over(a=["x", [2]], b=param("two")), VIEW) == (
        {"a": Single('"x"', "json"), "b": Single("1", "json")},
        {"a": Single("[2]", "json"), "b": Single("2", "json")},
    )


def test_items_of_another_foreach_travel_as_they_were_written() -> None:
    assert foreach_items(over(item=ref("some")), VIEW) == (
        {"item": Single("1.50", "float")},
        {"item": Single("null", "json")},
    )


def test_no_items() -> None:
    assert foreach_items(over(item=[]), VIEW) == ()


def test_unequal_lists() -> None:
    with pytest.raises(EvaluationError, match="a has 1, b has 2"):
        foreach_items(over(a=["x"], b=param("two")), VIEW)


def test_number_of_items_is_limited_where_the_list_is_known_late() -> None:
    with pytest.raises(EvaluationError, match=r"1,001 items; at most 1,000"):
        foreach_items(over(item=param("long")), VIEW)
    assert len(foreach_items(over(item=[0] * 1001), VIEW)) == 1001


def test_gathered_in_item_order_with_gaps_for_failed_items() -> None:
    one, three = Single("1", "int"), Single("3", "int")
    assert gather(["n"], [{"n": one}, None, {"n": three}]) == {"n": Gathered((one, None, three))}
    assert gather(["n", "m"], []) == {"n": Gathered(()), "m": Gathered(())}


@pytest.mark.parametrize(("spare", "fits"), [(0, True), (1, False)])
def test_size_of_a_list_counts_quotes_and_commas(spare: int, fits: bool) -> None:
    # ["xxx...","y"] has seven bytes beside the two texts, and the y is one more.
    long = Single("x" * (MAX_LIST_BYTES - 8 + spare), "str")
    items = [{"t": long}, {"t": Single("y", "str")}]
    if fits:
        gather(["t"], items)
    else:
        with pytest.raises(WireError, match="98,305 bytes; at most 98,304"):
            gather(["t"], items)
