"""What is wrong with ranges."""

from __future__ import annotations

import pytest

from couler.ir.policies import Foreach
from couler.ir.values import Literal, ParamRef, Range, StepRef, Value
from couler.ir.verify import verify
from couler.ir.workflow import Output, Parameter
from tests.support.sample_flows import ITEM, echo, flow
from tests.support.verification import codes, only


def number(value: object) -> Value:
    return Literal(value=value)


def over(value: Range) -> list[str]:
    return codes(flow(echo("a", ITEM, foreach=Foreach(over={"item": value}))))


@pytest.mark.parametrize(
    "value",
    [
        Range(),
        Range(count=number(1), end=number(1)),
        Range(count=number("many")),
        Range(count=number(1.5)),
        Range(start=number(True), count=number(1)),
        Range(count=number(1_000_001)),
        Range(end=number(-1_000_000)),
        Range(count=number(2**70)),
        *(
            Range(count=number(1), format=text)
            for text in ("", "n", "%s", "%d%d", "%03", "%0d", "%-3d", "%100d", "{{%d}}", '"%d')
        ),
    ],
)
def test_what_is_no_range(value: Range) -> None:
    assert over(value) == ["CLR187"]


@pytest.mark.parametrize(
    "value",
    [
        Range(count=number(0)),
        Range(count=number("3")),
        Range(end=number(-999_999)),
        Range(count=number(1), format="part-%03d.csv"),
        Range(count=number(1), format="%9d"),
    ],
)
def test_ranges(value: Range) -> None:
    assert over(value) == []


def test_an_end_that_is_no_whole_number() -> None:
    score = echo("score", outputs=(Output(type="float"),))
    each = echo("a", ITEM, foreach=Foreach(over={"item": Range(count=StepRef(step="score"))}))
    assert "whose count is float" in only(flow(score, each)).message


def from_parameter(count: object) -> list[tuple[str, str]]:
    value = Range(start=ParamRef(name="n"), count=number(count))
    each = echo("a", ITEM, foreach=Foreach(over={"item": value}))
    found = verify(flow(each, parameters=(Parameter(name="n", type="int", default=1),)))
    return [(one.code, one.message) for one in found]


def test_a_count_that_is_known_where_the_start_is_not() -> None:
    assert from_parameter(1000) == []
    for count in (1001, "1500"):
        ((code, message),) = from_parameter(count)
        assert code == "CLR187"
        assert "at most 1,000" in message
    assert [code for code, _ in from_parameter("many")] == ["CLR187"]


def test_elsewhere_than_in_a_foreach_it_travels_as_a_whole() -> None:
    assert codes(flow(echo("a", Range(count=number(1000))))) == []
    assert codes(flow(echo("a", Range(count=number(20_000))))) == ["CLR501"]


def test_lists_of_other_lengths() -> None:
    lists: dict[str, Value] = {"x": Range(count=number(3)), "y": number((1, 2))}
    assert codes(flow(echo("a", foreach=Foreach(over=lists)))) == ["CLR182"]
