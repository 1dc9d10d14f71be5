"""Looking into values and rewriting them, for every kind of the closed union."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    children,
    map_children,
    walk,
)

A, B, C = ParamRef(name="a"), ParamRef(name="b"), ParamRef(name="c")

LEAVES: list[Value] = [
    Literal(value={"a": [1]}),
    A,
    StepRef(step="s"),
    ItemRef(),
    RunRef(field="id"),
    RoundRef(),
    OwnRef(fact="status"),
    FirstOf(options=()),
    Template(parts=("only text",)),
]
"""Values without values inside."""

REWRITTEN: list[tuple[Value, Value]] = [
    (RoundRef(output="o", initial=A), RoundRef(output="o", initial=C)),
    (Field(of=A, path=("k", 0)), Field(of=C, path=("k", 0))),
    (OrElse(value=A, default=B), OrElse(value=C, default=B)),
    (OrElse(value=B, default=A), OrElse(value=B, default=C)),
    (FirstOf(options=(A, B, A)), FirstOf(options=(C, B, C))),
    (Range(start=A, end=B), Range(start=C, end=B)),
    (Range(start=B, count=A, format="%d"), Range(start=B, count=C, format="%d")),
    (Template(parts=("a", A, "{{a}}", B)), Template(parts=("a", C, "{{a}}", B))),
]
"""Values, and the same with C in the place of A."""


def a_to_c(value: Value) -> Value:
    return C if value == A else value


def test_the_samples_are_of_every_kind() -> None:
    kinds = set(t.get_args(t.get_args(Value)[0]))
    assert {type(value) for value in LEAVES} | {type(value) for value, _ in REWRITTEN} == kinds


@pytest.mark.parametrize("value", LEAVES, ids=lambda value: value.kind)
def test_a_value_without_children_stays_as_it_is(value: Value) -> None:
    assert children(value) == ()
    assert map_children(value, a_to_c) == value


@pytest.mark.parametrize(("value", "expected"), REWRITTEN, ids=lambda value: value.kind)
def test_each_child_is_replaced_where_it_stands(value: Value, expected: Value) -> None:
    before = value.model_dump_json()
    changed = map_children(value, a_to_c)
    assert changed == expected
    assert children(changed) == tuple(map(a_to_c, children(value)))
    assert value.model_dump_json() == before


def test_only_direct_children_are_replaced() -> None:
    deep = Field(of=Field(of=A, path=("x",)), path=("y",))
    assert map_children(deep, a_to_c) == deep
    assert A in set(walk(deep))
