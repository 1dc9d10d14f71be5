"""Patterns of files."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from couler.ir.artifacts import fitting, pattern_expression

PATHS = ["a.csv", "b.txt", "in/a.csv", "in/deep/a.csv", "in/a+b", "a[1]", "é.csv"]


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("*.csv", ["a.csv", "é.csv"]),
        ("?.csv", ["a.csv", "é.csv"]),
        ("**/*.csv", ["a.csv", "in/a.csv", "in/deep/a.csv", "é.csv"]),
        ("in/*", ["in/a.csv", "in/a+b"]),
        ("in/**", ["in/a.csv", "in/deep/a.csv", "in/a+b"]),
        ("*/a+b", ["in/a+b"]),
        ("[!a].*", ["b.txt", "é.csv"]),
        ("[a-b].[ct]*", ["a.csv", "b.txt"]),
        ("a[[]1]", None),
        ("a", []),
        ("", []),
        ("**", PATHS),
    ],
)
def test_which_paths_fit(pattern: str, found: list[str] | None) -> None:
    if found is None:
        with pytest.raises(ValueError, match="begins no set"):
            fitting(PATHS, pattern)
    else:
        assert fitting(PATHS, pattern) == found


@pytest.mark.parametrize("pattern", ["[", "a[]", "[z-a]", "[a/b]", "[a&&b]"])
def test_sets_that_are_none(pattern: str) -> None:
    with pytest.raises(ValueError, match="set of characters"):
        pattern_expression(pattern)


@given(st.text())
def test_text_stands_for_itself(text: str) -> None:
    plain = re.sub(r"[*?\[]", "", text)
    assert fitting([plain, f"{plain}x", f"x{plain}"], plain) == [plain]
