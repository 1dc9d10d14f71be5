"""The functions that DAG files carry mean the same as the rules of the IR."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator

import pytest
from hypothesis import strategies as st

from couler.backends.airflow import runtime


class RefusedError(Exception):
    """Stands for the exception by which a task fails for good."""


class SkippedError(Exception):
    """Stands for the exception by which a task is skipped."""


@pytest.fixture(autouse=True, scope="module")
def _names_of_airflow() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runtime, "AirflowFailException", RefusedError, raising=False)
        patch.setattr(runtime, "AirflowSkipException", SkippedError, raising=False)
        yield


NUMBERS = st.integers(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=4) | st.sampled_from(
    [
        "1",
        " 1 ",
        "1.0",
        "1e3",
        "0x1",
        "1_0",
        "nan",
        "inf",
        "true",
        "True",
        " false",
        "TRUE",
        "",
        "٣",
    ]
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=5,
)


def outcome(
    call: t.Callable[[], t.Any], *refusals: type[Exception]
) -> tuple[t.Literal["is", "refused"], t.Any]:
    """What a call gives, or that it refuses."""
    try:
        return "is", call()
    except refusals:
        return "refused", None


def test_what_is_not_there_stays_so() -> None:
    assert runtime.part_of(None, "a") is None
    assert runtime.plain(None) is None
    assert runtime.json_or_none(None) is None
    assert runtime.joined("a", None) is None
    assert runtime.joined("a", "b") == "ab"
    assert runtime.first_of(None, "", "b") == ""
    assert runtime.first_of(None, None) is None


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({"x": "[1]", "y": "[1, 2]"}, "differ in length: x has 1, y has 2"),
        ({"x": json.dumps([0] * 1001)}, "more than 1000 items: x has 1001"),
    ],
)
def test_lists_that_cannot_be_mapped_are_named(lists: dict[str, str], message: str) -> None:
    with pytest.raises(RefusedError, match=message):
        runtime.make_rows(None, lists)
