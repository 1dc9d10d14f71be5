"""The rows of the table: each finds its own failures and no others, in linear time."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import asdict
from re import (
    _constants as codes,  # type: ignore[attr-defined]
    _parser as parser,  # type: ignore[attr-defined]
)
from typing import Any, get_args

import pytest

from couler.failures import PATTERNS, Failure, Pattern, recognise
from couler.failures.pattern import Sign, System
from tests.failures.near_misses import NEAR_MISSES

BY_NAME = {pattern.name: pattern for pattern in PATTERNS}


def fits(pattern: Pattern, failure: Failure) -> bool:
    return any(one.find(failure) is not None for one in pattern.signs)


def test_examples_are_found_by_their_rows_and_by_no_earlier_one() -> None:
    for index, pattern in enumerate(PATTERNS):
        found = recognise(**asdict(pattern.example))
        assert found is not None, pattern.name
        assert found.pattern is pattern
        for earlier in PATTERNS[:index]:
            assert not fits(earlier, pattern.example), (pattern.name, earlier.name)


def test_messages_of_examples_are_enough_unless_a_code_is_what_tells() -> None:
    """Engines often hand on the message alone."""
    for pattern in PATTERNS:
        if any(one.text for one in pattern.signs):
            found = recognise(pattern.example.message, log=pattern.example.log)
            assert found is not None, pattern.name
            assert found.pattern is pattern


def test_near_misses_are_not_found() -> None:
    for name, misses in NEAR_MISSES.items():
        for miss in misses:
            assert not fits(BY_NAME[name], miss), (name, miss)


def test_every_row_with_a_text_has_a_near_miss() -> None:
    with_text = {one.name for one in PATTERNS if any(sign.text for sign in one.signs)}
    assert with_text <= set(NEAR_MISSES) <= set(BY_NAME)


def test_names_are_unique_and_in_the_style_of_the_paper() -> None:
    assert [
        name for name, count in Counter(one.name for one in PATTERNS).items() if count > 1
    ] == []
    for name in BY_NAME:
        assert re.fullmatch(r"(?:[A-Z][a-z0-9]*|[A-Z]+)+Err", name), name
    assert {"ExceededQuotaErr", "TooManyRequestsErr"} <= set(BY_NAME)


def test_table_is_large_enough_and_covers_each_system() -> None:
    assert len(PATTERNS) >= 25
    assert {one.system for one in PATTERNS} == set(get_args(System))


def test_rows_have_sources() -> None:
    assert [one.name for one in PATTERNS if not one.source.startswith("https://")] == []


def test_a_search_takes_linear_time() -> None:
    """Its repetitions are bounded, so what it does at each place of a text is bounded too."""
    for pattern in PATTERNS:
        for one in pattern.signs:
            if one.text is not None:
                ways = ways_to_match(parser.parse(one.text, re.MULTILINE))
                assert ways <= 500_000, f"{one.text} may try {ways} ways at each place"


def ways_to_match(tree: Any) -> int:
    """Return a bound on the ways in which a part can match that starts at one place."""
    ways = 1
    for code, argument in tree:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, body = argument
            assert most <= 1000, "an unbounded repetition"
            within = ways_to_match(body)
            assert within == 1 or most == 1, "a repetition inside of another"
            ways *= max(within, 1) + 1 if most == 1 else most - least + 1
        elif code is codes.BRANCH:
            ways *= sum(ways_to_match(branch) for branch in argument[1])
        elif code is codes.SUBPATTERN:
            ways *= ways_to_match(argument[-1])
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            ways *= ways_to_match(argument[1])
    return ways


@pytest.mark.parametrize(
    ("text", "why"),
    [(r"a+b", "unbounded"), (r"(?:a{1,9}b?){1,9}", "inside"), (r"(?:a|aa){1,9}", "inside")],
)
def test_slow_expressions_are_told(text: str, why: str) -> None:
    with pytest.raises(AssertionError, match=why):
        ways_to_match(parser.parse(text))


def test_every_sign_states_something() -> None:
    for pattern in PATTERNS:
        assert pattern.signs, pattern.name
        assert not {Sign(), Sign(in_log=True)}.intersection(pattern.signs), pattern.name


def test_rows_have_waits_if_retrying_helps() -> None:
    assert [one.name for one in PATTERNS if (one.retry == "never") == one.helps] == []
