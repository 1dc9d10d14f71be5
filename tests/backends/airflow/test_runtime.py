"""The functions that DAG files carry mean the same as the rules of the IR."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st

from couler.backends.airflow import runtime
from couler.errors import EvaluationError
from couler.ir.semantics.wire import dump_json, part, to_text


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
    assert runtime.field_of(None, "a") is None
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


KEYS = st.sampled_from(["a", "b", "é"]) | st.integers(0, 2)
NESTED = st.recursive(
    SCALARS | st.just("\u2028 {{x}} $(y)"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "b", "é"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(NESTED, st.lists(KEYS, max_size=3))
def test_fields_of_what_functions_return_are_parts_of_its_json(
    value: object, path: list[str | int]
) -> None:
    text = dump_json(value)
    wanted = outcome(lambda: part(text, *path), EvaluationError)
    found = outcome(lambda: runtime.field_of(text, *path, as_json=True), RefusedError)
    assert found == wanted
    if wanted[0] == "is":
        assert runtime.field_of(text, *path) == to_text(wanted[1])


class Pulled:
    """A task instance behind items that gave something, of which the last is of an earlier try."""

    def __init__(self, given: list[str]) -> None:
        self.given = given

    def xcom_pull(self, task: str | list[str], key: str = "") -> object:
        return self.given[:-1] if key == "rows" else [{"result": one} for one in self.given]


@given(st.lists(TEXTS | st.just("\u2028\u2029"), min_size=1))
def test_lists_of_texts_are_json(texts: list[str]) -> None:
    found = runtime.listed(Pulled(texts), "each", "result", "each-items", texts=True)
    assert found == dump_json(texts[:-1])
    assert runtime.listed(Pulled(texts), "each", "result", texts=True) == dump_json(texts)
