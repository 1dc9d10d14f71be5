"""Nodes that are made without checking are those that checking would give."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

import couler
from couler.dsl import _nodes
from couler.ir.base import Node
from couler.ir.serialize import read_json, write_json
from couler.ir.values import Literal, StepRef
from couler.ir.workflow import Container, Input, Step
from tests.dsl.look import box

CONTAINER = Container(image="busybox", command=("echo",), args=("x", StepRef(step="a")))
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    SCALARS | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@pytest.mark.parametrize(
    ("made", "checked"),
    [
        (
            _nodes.make_container("busybox", ("echo",), ("x", StepRef(step="a"))),
            CONTAINER,
        ),
        (
            _nodes.make_plain_input("n", Literal(value=1), "int"),
            Input(name="n", value=Literal(value=1), type="int"),
        ),
        (_nodes.make_ref("a", "b"), StepRef(step="a", output="b")),
        (_nodes.make_literal("x"), Literal(value="x")),
        (
            _nodes.make_step({"name": "a", "action": CONTAINER, "timeout_s": 3.0}),
            Step(name="a", action=CONTAINER, timeout_s=3.0),
        ),
    ],
    ids=lambda node: type(node).__name__,
)
def test_made_and_checked_nodes_are_the_same(made: Node, checked: Node) -> None:
    assert made == checked
    assert hash(made) == hash(checked)
    assert repr(made) == repr(checked)
    assert list(made.__dict__) == list(checked.__dict__)
    assert made.model_fields_set == checked.model_fields_set
    for options in ({}, {"exclude_defaults": True}, {"exclude_unset": True}):
        assert made.model_dump_json(**options) == checked.model_dump_json(**options)
    assert type(checked).model_validate_json(made.model_dump_json()) == checked
    first = next(iter(made.model_fields_set))
    assert made.model_copy(update={first: getattr(made, first)}) == made
    with pytest.raises(ValueError, match="frozen"):
        setattr(made, first, None)


@given(JSON)
def test_literals_of_any_json(value: object) -> None:
    made = _nodes.make_literal(value)
    assert made == Literal(value=value)
    assert json.loads(json.dumps(made.model_dump(mode="json")["value"])) == value


def test_a_program_reads_back_as_it_was_written() -> None:
    @couler.step(retry=2, env={"A": "a"})
    def work(n: int, text: str = "x") -> float:
        return n

    with couler.Workflow("w", n=1) as wf:
        a = work(wf.params.n)
        b = work.map([1, 2])
        with couler.when(a > 1), couler.group("g"):
            box("c", a, b, a.or_else(0.5))
    built = wf.to_ir()
    assert read_json(write_json(built)) == built
    assert wf.to_ir() == built
