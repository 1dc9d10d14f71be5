"""How values travel."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from couler.errors import WireError
from couler.ir.base import freeze_json
from couler.ir.semantics.wire import decode, encode, matches
from couler.ir.values import ValueType, check_size
from tests.support.strategies import hostile_text, json_values

TYPES: tuple[ValueType, ...] = (
    "str",
    "int",
    "float",
    "bool",
    "list",
    "dict",
    "json",
    "file",
    "directory",
)


@given(json_values, st.sampled_from(TYPES))
def test_a_value_of_its_type_comes_back(value: object, value_type: ValueType) -> None:
    if not matches(value, value_type):
        return
    back = freeze_json(decode(encode(value, value_type), value_type))
    assert back == value
    assert isinstance(back, float) or value_type != "float"


@given(hostile_text)
def test_text_travels_as_it_is(text: str) -> None:
    assert encode(text) == text
    assert decode(text, "str") == text
    assert decode(encode(text, "json"), "json") == text


@given(json_values)
def test_other_values_travel_as_compact_json(value: object) -> None:
    if not isinstance(value, str):
        text = encode(value)
        assert "\n" not in text
        assert freeze_json(decode(text, "json")) == value


def test_types_of_numbers() -> None:
    assert isinstance(decode("1", "float"), float)
    assert isinstance(decode("1", "int"), int)
    assert isinstance(decode("1", "json"), int)
    assert encode(1.0) == "1.0"


@pytest.mark.parametrize(
    ("text", "value_type"),
    [
        ("1.5", "int"),
        ("true", "int"),
        ("1", "bool"),
        ("x", "float"),
        ("", "json"),
        ("{}", "list"),
        ("[]", "dict"),
        ("NaN", "float"),
        ("Infinity", "json"),
        ("[NaN]", "list"),
        ("null", "int"),
    ],
)
def test_what_is_not_of_its_type(text: str, value_type: ValueType) -> None:
    with pytest.raises(WireError, match="is declared"):
        decode(text, value_type)


@pytest.mark.parametrize("value", [math.nan, math.inf, [-math.inf], {1, 2}, object()])
def test_what_has_no_json_form(value: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        encode(value)
    with pytest.raises(ValueError, match="no JSON form"):
        freeze_json(value)


def test_keys_are_texts() -> None:
    with pytest.raises(ValueError, match="needs text keys"):
        freeze_json({1: "x"})


def test_sizes_are_bytes_of_utf_8() -> None:
    check_size("ü" * 5, 10, "the value")
    with pytest.raises(WireError, match=r"the value is 12 bytes; at most 10 travel"):
        check_size("ü" * 6, 10, "the value")


@pytest.mark.parametrize(
    ("text", "value_type"),
    [
        ("[" * 20_000, "json"),
        ("[" * 20_000 + "]" * 20_000, "list"),
        ("1" + "0" * 400, "float"),
        ("1" + "0" * 5_000, "int"),
        ("[1e999]", "list"),
    ],
)
def test_what_is_beyond_what_is_kept_is_refused(text: str, value_type: ValueType) -> None:
    with pytest.raises(WireError, match=f"is declared {value_type}, but it"):
        decode(text, value_type)
