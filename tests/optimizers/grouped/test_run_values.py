"""In the pod of a group values are what they are elsewhere."""

from __future__ import annotations

import pytest
from hypothesis import example, given, strategies as st

from couler.errors import EvaluationError, MissingOutputError, WireError
from couler.ir.semantics import values as ir
from couler.ir.semantics.wire import as_type, to_text
from couler.ir.values import Field, FirstOf, Literal, OrElse, StepRef, Template, Value, ValueType
from couler.optimizers.grouped.lowering import Reading
from couler.optimizers.grouped.run_attempts import read_value, resolve
from couler.optimizers.grouped.sharing import Kinds

TYPES: tuple[ValueType, ...] = ("str", "int", "float", "bool", "list", "dict", "json")
TEXTS = (
    "",
    "a",
    "null",
    "true",
    "1",
    "1.0",
    "1e3",
    "NaN",
    "[1,2]",
    '{"a": {"b" :[3.10]}}',
    ' [ 1e3,"\\u00fc" ] ',
    '"x"',
    "{",
)

stored = st.tuples(st.sampled_from(TEXTS), st.sampled_from(TYPES))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(-2, 2) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)
values = st.recursive(
    st.builds(StepRef, step=st.sampled_from(("a", "b", "gone")))
    | st.builds(Literal, value=json_values),
    lambda inner: (
        st.builds(Field, of=inner, path=st.sampled_from((("a",), ("a", "b"), (0,), (1,))))
        | st.builds(OrElse, value=inner, default=inner)
        | st.builds(FirstOf, options=st.tuples(inner, inner))
        | st.builds(Template, parts=st.tuples(st.just("= "), inner))
    ),
    max_leaves=4,
)


@example(StepRef(step="b"), ("", "str"), ("NaN", "json"), "str")
@example(StepRef(step="b"), ("", "str"), ("[1e999]", "list"), "str")
@given(values, stored, stored, st.sampled_from(TYPES))
def test_values_are_those_of_the_ir(
    value: Value, a: tuple[str, ValueType], b: tuple[str, ValueType], wanted: ValueType
) -> None:
    steps = {"a": {"result": ir.Single(*a)}, "b": {"result": ir.Single(*b)}}
    view = ir.View(ir.RunFacts("r", ""), steps=steps)
    kinds = Kinds({}, {})
    definition = Reading(("a", "b", "gone"), kinds).value(value)
    given_out = {"a": {"result": a}, "b": {"result": b}}

    def expected() -> tuple[str, str]:
        found = ir.resolve(value, view)
        return ir.to_text(found), ir.as_type(found, wanted).text

    def seen() -> tuple[str, str]:
        found = resolve(definition, given_out)
        return to_text(*found), as_type(*found, wanted)

    try:
        texts = expected()
    except MissingOutputError:
        with pytest.raises(MissingOutputError):
            seen()
    except ir.VALUE_ERRORS:
        with pytest.raises((EvaluationError, WireError)):
            seen()
    else:
        assert seen() == texts


def test_inputs_of_the_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COULER_INPUT_in_0", "7")
    assert resolve({"given": "in_0", "type": "int"}, {}) == ("7", "int")
    with pytest.raises(MissingOutputError, match="in_1"):
        resolve({"given": "in_1", "type": "int"}, {})


def test_an_output_is_text_of_limited_size_less_one_newline() -> None:
    assert read_value(b"a\n\n", "x") == "a\n"
    assert len(read_value(b"x" * 65536 + b"\n", "x")) == 65536
    with pytest.raises(WireError, match="larger than 65,536 bytes"):
        read_value(b"x" * 65537, "x")
    with pytest.raises(WireError, match="no UTF-8 text"):
        read_value(b"\xff", "x")
