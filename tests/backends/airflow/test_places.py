"""Which items are mapped, what ids tasks have, and what of items and rounds is refused."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.airflow.flow_checks import check_flow
from couler.backends.airflow.places import Spot, free
from couler.ir.values import Literal, Range
from couler.ir.workflow import Step
from tests.corpus.build import compare, flow, group, last, param, sh, while_


def each(name: str, over: object, *steps: Step, width: int | None = None) -> Step:
    made = group(name, *steps, foreach=over) if steps else sh(name, "true", foreach=over)
    assert made.foreach is not None
    foreach = made.foreach.model_copy(update={"max_parallel": width})
    return made.model_copy(update={"foreach": foreach})


STATIC, DYNAMIC = [1, 2], param("list")


def test_ids() -> None:
    again = while_(compare(last(), "<", 3), max_iterations=4)
    loop = sh("count", "true", loop=again)
    spot = Spot(loop, "g.count", None)
    assert (spot.round, spot.end_of_round, spot.ends()) == (
        "g.count.round_#",
        "g.count.round_#",
        ["g.count.bound_4"],
    )
    unrolled = Spot(each("row", STATIC, sh("end", "true")), "row", "unrolled")
    assert unrolled.ends() == ["row.item_0.end_", "row.item_1.end_"]
    assert Spot(each("work", []), "g.work", "unrolled").ends() == ["g.work.items"]
    assert Spot(each("work", DYNAMIC), "g.work", "mapped").maker == "g.work-items"
    assert Spot(each("work", DYNAMIC), "g.work", "mapped", frozenset({"work-items"})).maker == (
        "g.work-items_"
    )
    assert free("when", {"when"}) == "when_"
    assert Spot(each("work", DYNAMIC), "g.work", "mapped").first == "g.work-items"
    assert Spot(each("one", DYNAMIC, sh("in", "true")), "one", "mapped").first == "one.items"
    assert Spot(each("one", STATIC, sh("when", "true")), "one", "mapped").first == "one.when"
    assert Spot(group("one", sh("when", "true")), "one", None).first == "one.when_"


def test_two_lists_of_the_run_are_refused() -> None:
    both = each("row", DYNAMIC, each("cell", DYNAMIC))
    codes = {one.code: one.step for one in check_flow(flow("f", both))}
    assert codes == {"CLR340": "row/cell"}
    assert not [*check_flow(flow("f", each("row", STATIC, each("cell", DYNAMIC))))]


@pytest.mark.parametrize(
    "items",
    [
        Range(count=Literal(value=1_001)),
        Range(count=Literal(value=1_001), format="n%d"),
        [0] * 1_001,
    ],
    ids=["range", "texts", "list"],
)
def test_items_that_are_known_have_a_bound(items: t.Any) -> None:
    inner = each("cell", items)
    [found] = check_flow(flow("f", inner))
    assert (found.code, found.step, found.severity) == ("CLR379", "cell", "error")
    nested = [*check_flow(flow("f", each("row", STATIC, inner)))]
    assert ("CLR379", "row/cell") in {(one.code, one.step) for one in nested}
    assert not [*check_flow(flow("f", each("cell", Range(count=Literal(value=1_000)))))]
