"""Parts and items are what their producer wrote, less white space."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from couler.errors import EvaluationError, WireError
from couler.ir.semantics.replay import Unknown, UnknownValueError
from couler.ir.semantics.values import (
    Gathered,
    RunFacts,
    Single,
    View,
    as_type,
    elements,
    resolve,
    to_text,
)
from couler.ir.values import Field, StepRef, ValueType
from tests.support.strategies import json_values

Path = tuple[str | int, ...]


def part(text: str, path: Path, kind: ValueType = "json") -> Single:
    """Read a part of what a step gave."""
    view = View(RunFacts("r", ""), steps={"a": {"result": Single(text, kind)}})
    stored = resolve(Field(of=StepRef(step="a"), path=path), view)
    assert isinstance(stored, Single)
    return stored


@pytest.mark.parametrize(
    ("text", "path", "as_text", "as_json"),
    [
        ('{"a": 1e3}', ("a",), "1e3", "1e3"),
        ("[1.10, 1.0, -0]", (1,), "1.0", "1.0"),
        ("[9007199254740993]", (0,), "9007199254740993", "9007199254740993"),
        (' { "b" : [ 1 , { "z" : 2, "a" : 3 } ] } ', ("b",), *['[1,{"z":2,"a":3}]'] * 2),
        (r'["\u00fc \n\/"]', (0,), "ü \n/", r'"\u00fc \n\/"'),
        (r'[{"k": "\u00fc"}]', (0,), *[r'{"k":"\u00fc"}'] * 2),
        ('{"a": 1, "a": 2}', ("a",), "2", "2"),
        (r'{"\u0061": 1}', ("a",), "1", "1"),
        (r'{"\"]": "[,{"}', ('"]',), "[,{", '"[,{"'),
        ('[[], {}, ""]', (2,), "", '""'),
        ("[[], {}, null]", (0,), "[]", "[]"),
        ("[true,\t null\n]", (1,), "null", "null"),
        (r'"{\"a\": [1.0]}"', ("a", 0), "1.0", "1.0"),
    ],
)
def test_part(text: str, path: Path, as_text: str, as_json: str) -> None:
    found = part(text, path)
    assert (to_text(found), as_type(found, "json").text) == (as_text, as_json)


@pytest.mark.parametrize(
    ("text", "kind", "path"),
    [
        ("[1]", "json", (1,)),
        ("[1]", "json", (-1,)),
        ("[1]", "json", ("0",)),
        ('{"0": 1}', "json", (0,)),
        ("5", "json", (0,)),
        ('{"a": NaN}', "json", ("a",)),
        ("[1e999]", "json", (0,)),
        ("[1", "json", (0,)),
        ("[1]", "dict", (0,)),
        ("", "str", (0,)),
    ],
)
def test_what_has_no_such_part(text: str, kind: ValueType, path: Path) -> None:
    with pytest.raises((EvaluationError, WireError)):
        part(text, path, kind)


@given(st.lists(json_values), st.sampled_from([None, 1, "\t"]))
def test_items_are_the_parts_of_a_list(values: list[object], indent: int | str | None) -> None:
    text = json.dumps(values, indent=indent)
    items = elements(Single(text, "list"))
    assert [item and item.text for item in items] == [
        json.dumps(value, separators=(",", ":")) for value in values
    ]
    assert list(items) == [part(text, (index,)) for index in range(len(values))]


def test_a_gathered_list_has_what_its_items_gave() -> None:
    given_out = Gathered(
        (
            Single(" 1.10\n", "float"),
            None,
            Single('a"', "str"),
            Single('{"b": 1e3, "a": 0}', "json"),
        )
    )
    assert to_text(given_out) == '[1.10,null,"a\\"",{"b":1e3,"a":0}]'


def test_what_is_not_known_yet_is_in_no_list() -> None:
    with pytest.raises(UnknownValueError):
        to_text(Gathered((Single("1", "int"), Unknown("", "int"))))
