"""Expressions are laid out as ruff's formatter would lay them out."""

from __future__ import annotations

import ast
import difflib
import typing as t
from collections.abc import Callable

import pytest
from hypothesis import Phase, given, settings, strategies as st

from couler.backends.airflow.python import (
    INDENT,
    Call,
    Chain,
    Code,
    Expression,
    Junction,
    Negation,
    Unpacked,
    edge,
    quoted,
    returned,
    statement,
    text_block,
    value_of,
)
from tests.backends.airflow.ruff import formatted

pytestmark = pytest.mark.checkout  # which has ruff

COUNT = 40

texts = (
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
    | st.text("ab'\"\\{} ", max_size=20)
    | st.text("ab c", min_size=30, max_size=110)
    | st.text("日本é\u0301x", min_size=20, max_size=60)
    | st.sampled_from(["\\'", "\\\"'", "'\"", '\\"', "\\", "\r\n", "\x00", "\u2028", "a\\\nb"])
)
names = st.text("abcghxyz", min_size=1, max_size=30) | st.just("a" * 60)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-1000, 10**20) | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
).map(value_of)


def calls(inner: st.SearchStrategy[Expression], least: int = 0) -> st.SearchStrategy[Call]:
    places = st.lists(inner, min_size=least, max_size=3).map(tuple)
    keywords = st.lists(st.tuples(names, inner), max_size=4, unique_by=lambda one: one[0])
    return st.builds(Call, names, places, keywords.map(tuple))


trees: st.SearchStrategy[t.Any] = st.recursive(
    values | names.map(Code),
    lambda inner: calls(inner) | st.lists(inner, max_size=3).map(value_of),
    max_leaves=10,
)
operators = calls(trees, 1) | st.builds(
    lambda before, made: Call(made.function, (Unpacked(before),), made.keywords),
    calls(values),
    calls(values),
)
conditions = st.recursive(
    calls(names.map(Code) | texts.map(value_of), 1),
    lambda inner: (
        st.builds(
            Junction,
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3).map(tuple),
        )
        | inner.map(Negation)
    ),
    max_leaves=6,
)


def laid_out_as_ruff_does(of: st.SearchStrategy[t.Any], write: Callable[[t.Any, int], str]) -> None:
    """Try many, at several levels of indentation, in one call of ruff: it takes longer to start."""
    parts: list[str] = []

    @settings(max_examples=COUNT, deadline=None, database=None, phases=[Phase.generate])
    @given(of, st.integers(0, 2))
    def collect(one: t.Any, indent: int) -> None:
        above = [f"{INDENT * level}with x:\n" for level in range(indent)]
        part = "".join(above) + write(one, indent) + f"\n{INDENT * indent}y = 1\n"
        ast.parse(part)
        parts.append(part)

    collect()
    source = "".join(parts)
    found = difflib.unified_diff(without_blanks(source), without_blanks(formatted(source)), n=2)
    assert "\n".join(found) == ""


def without_blanks(source: str) -> list[str]:
    return [line for line in source.split("\n") if line]


def test_assignments() -> None:
    laid_out_as_ruff_does(
        st.tuples(names, operators | trees), lambda one, indent: statement(*one, indent=indent)
    )


def test_chained_calls() -> None:
    laid_out_as_ruff_does(
        st.builds(Chain, operators, calls(trees)),
        lambda one, indent: statement("name", one, indent=indent),
    )


def test_edges() -> None:
    laid_out_as_ruff_does(
        st.tuples(st.lists(names, min_size=1, max_size=6), names),
        lambda one, indent: edge(*one, indent=indent),
    )


def test_conditions() -> None:
    laid_out_as_ruff_does(
        conditions,
        lambda one, indent: (
            f"{INDENT * indent}def f():\n" + returned(one.flat(), indent=indent + 1)
        ),
    )


@given(texts)
def test_texts_read_back(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text


lines = st.lists(st.text("ab\t \\\"'é#", max_size=12), min_size=2, max_size=6).map("\n".join)


def test_blocks_of_text() -> None:
    laid_out_as_ruff_does(
        lines.map(text_block).filter(bool), lambda one, indent: f"{INDENT * indent}x = {one}"
    )


@given(lines)
def test_blocks_of_text_read_back(text: str) -> None:
    written = text_block(text)
    assert written is None or ast.literal_eval(written) == text
