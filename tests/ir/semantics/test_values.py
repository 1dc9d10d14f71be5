"""What values stand for: what can be read, which text travels, which JSON value is meant."""

from __future__ import annotations

import pytest

from couler.errors import ConditionError, EvaluationError, MissingOutputError, WireError
from couler.ir.semantics.values import (
    Gathered,
    RunFacts,
    Single,
    Stored,
    View,
    bind_input,
    elements,
    holds,
    resolve,
    resolve_text,
    to_json,
    to_text,
)
from couler.ir.semantics.wire import part as part_of
from tests.corpus.build import (
    compare,
    first_of,
    given,
    item,
    last,
    or_else,
    param,
    part,
    ref,
    run,
    text,
    value,
)

VIEW = View(
    RunFacts("w-1", "2026-01-02T03:04:05+00:00"),
    parameters={"n": Single("3", "int"), "tree": Single('{"a": [1, "x"]}', "dict")},
    steps={
        "word": {"result": Single("a b", "str")},
        "quoted": {"result": Single('"a b"', "json")},
        "number": {"result": Single("1.50", "float")},
        "wrong": {"result": Single("many", "int")},
        "listed": {"result": Gathered((Single("1", "int"), None, Single("3", "int")))},
        "skipped": {},
    },
    items={"item": Single("it", "str")},
    round={"result": Single("7", "int")},
)


@pytest.mark.parametrize(
    ("source", "as_json", "as_text"),
    [
        ("text", "text", "text"),
        (None, None, "null"),
        ([1, {"k": True}], (1, {"k": True}), '[1,{"k":true}]'),
        (param("n"), 3, "3"),
        (ref("word"), "a b", "a b"),
        (ref("quoted"), "a b", "a b"),
        (ref("number"), 1.5, "1.50"),  # what was written travels as it was written
        (param("tree"), {"a": (1, "x")}, '{"a": [1, "x"]}'),
        (ref("listed"), (1, None, 3), "[1,null,3]"),
        (item(), "it", "it"),
        (last(), 7, "7"),
        (run("id"), "w-1", "w-1"),
        (part(param("tree"), "a", 1), "x", "x"),
        (part(ref("listed"), 2), 3, "3"),
        (or_else(ref("word"), 0), "a b", "a b"),
        (or_else(ref("skipped"), 0), 0, "0"),
        (or_else(part(ref("skipped"), "a"), [0]), (0,), "[0]"),
        (or_else(text("<", ref("skipped"), ">"), "-"), "-", "-"),
        (first_of(ref("skipped"), ref("number"), ref("word")), 1.5, "1.50"),
        (text("n=", param("n"), " ", ref("quoted"), " ", [1]), "n=3 a b [1]", "n=3 a b [1]"),
    ],
)
def test_value(source: object, as_json: object, as_text: str) -> None:
    stored = resolve(value(source), VIEW)
    assert to_json(stored) == as_json
    assert to_text(stored) == as_text


@pytest.mark.parametrize(
    ("source", "error", "told"),
    [
        (ref("skipped"), MissingOutputError, '"result" of "skipped"'),
        (first_of(ref("skipped"), ref("skipped", "other")), MissingOutputError, '"other"'),
        (part(param("tree"), "b"), EvaluationError, "no 'b'"),
        (part(param("tree"), "a", 2), EvaluationError, "no 2"),
        (part(param("tree"), "a", -1), EvaluationError, "no -1"),
        (part(param("tree"), "a", "0"), EvaluationError, "no '0'"),
        (or_else(part(param("tree"), "b"), 0), EvaluationError, "no 'b'"),
        (part(ref("word"), 0), WireError, "declared json"),
        (run("status"), EvaluationError, "exit handlers"),
    ],
)
def test_value_that_is_not_there(source: object, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told) as caught:
        resolve(value(source), VIEW)
    assert type(caught.value) is error


def test_text_of_the_wrong_type_travels_until_it_is_decoded() -> None:
    assert resolve_text(ref("wrong"), VIEW) == "many"
    with pytest.raises(WireError, match="declared int"):
        to_json(resolve(ref("wrong"), VIEW))
    with pytest.raises(WireError, match="declared int"):
        holds(compare(ref("wrong"), ">", 1), VIEW)


def test_condition_compares_json_values() -> None:
    assert holds(compare(ref("number"), "==", 1.5), VIEW)
    assert holds(compare(ref("quoted"), "==", ref("word")), VIEW)
    with pytest.raises(ConditionError):
        holds(compare(ref("word"), ">", 1), VIEW)


def test_first_round_reads_the_initial_value() -> None:
    first = View(VIEW.run, VIEW.parameters, VIEW.steps)
    assert to_json(resolve(last(initial=ref("number")), first)) == 1.5
    assert to_json(resolve(last(initial=ref("number")), VIEW)) == 7
    assert to_json(resolve(or_else(last(), 0), first)) == 0
    with pytest.raises(MissingOutputError, match="first round"):
        resolve(last(), first)


@pytest.mark.parametrize(
    ("source", "value_type", "bound"),
    [
        ("a", "str", Single("a", "str")),
        ("a", "json", Single('"a"', "json")),
        (ref("quoted"), "json", Single('"a b"', "json")),
        (ref("quoted"), "str", Single("a b", "str")),
        (3, "str", Single("3", "str")),
        (ref("number"), "json", Single("1.50", "json")),
        (ref("listed"), "list", Single("[1,null,3]", "list")),
        (ref("listed"), "json", Single("[1,null,3]", "json")),
    ],
)
def test_input_has_the_type_of_its_reader(source: object, value_type: str, bound: Stored) -> None:
    assert bind_input(given("x", source, value_type), VIEW) == bound  # type: ignore[arg-type]


def test_input_of_many_files_keeps_the_places_of_those_that_are_missing() -> None:
    files = Gathered((Single("w[0]/f", "file"), None))
    view = View(VIEW.run, steps={"w": {"f": files}})
    assert bind_input(given("fs", ref("w", "f"), "file", many=True), view) == files
    literal = given("fs", ["w[0]/f", None], "file", many=True)
    assert bind_input(literal, view) == files


def test_elements_are_those_of_a_list() -> None:
    assert elements(Single('["a", [1]]', "str")) == (Single('"a"', "json"), Single("[1]", "json"))
    with pytest.raises(EvaluationError, match="list is needed"):
        elements(Single('{"a": 1}', "json"))
    with pytest.raises(EvaluationError, match="list is needed"):
        elements(Single("3", "int"))


def test_part_of_nothing_is_the_value() -> None:
    assert part_of(" [ 1 ]") == "[1]"
