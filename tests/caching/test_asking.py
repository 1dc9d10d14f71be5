"""Policies that fail, or say what is no answer."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import numpy as np
import pytest

from couler.caching.asking import ask_admit, ask_credit, ask_worth
from couler.caching.policies.simple import LeastRecentlyUsed
from couler.caching.policy import CachePolicy, Knowledge
from couler.errors import CachePolicyError, StateError

NOTHING = t.cast("Knowledge", None)


class Saying:
    """A policy with one answer to everything, or one error."""

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def _say(self, key: str, known: Knowledge) -> t.Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    admit = on_access = worth = _say


ASKED: dict[str, Callable[[CachePolicy, str, Knowledge], object]] = {
    "admit": ask_admit,
    "on_access": ask_credit,
    "worth": ask_worth,
}


@pytest.mark.parametrize("question", ASKED)
def test_what_a_policy_raises_is_told_as_its_error(question: str) -> None:
    with pytest.raises(CachePolicyError) as told:
        ASKED[question](Saying(KeyError("size")), "a", NOTHING)
    assert str(told.value) == (
        f"the cache policy Saying: {question} failed for 'a': KeyError: 'size'. "
        "Mend the policy, or choose another one"
    )
    assert isinstance(told.value.__cause__, KeyError)
    assert told.value.exit_code == 3


@pytest.mark.parametrize("question", ASKED)
def test_what_it_raises_is_one_line_and_a_hash_has_the_letters_that_people_see(
    question: str,
) -> None:
    key = "0123456789abcdef" * 4
    with pytest.raises(CachePolicyError) as told:
        ASKED[question](Saying(RuntimeError("boom\n  second line\n")), key, NOTHING)
    assert str(told.value) == (
        f"the cache policy Saying: {question} failed for '0123456789ab': RuntimeError: boom second "
        "line. Mend the policy, or choose another one"
    )
    with pytest.raises(CachePolicyError) as told:
        ASKED[question](Saying(np.ones((9, 2))), key, NOTHING)
    assert "\n" not in str(told.value)
    assert " of '0123456789ab', which is not " in str(told.value)


@pytest.mark.parametrize("question", ["on_access", "worth"])
@pytest.mark.parametrize("answer", [float("nan"), np.float32("nan"), None, "1", 1j, 10**400])
def test_a_worth_is_a_number(question: str, answer: object) -> None:
    with pytest.raises(CachePolicyError, match=r"of 'a', which is not a number"):
        ASKED[question](Saying(answer), "a", NOTHING)


@pytest.mark.parametrize("answer", [0, -1.5, float("inf"), True, np.float32(2), np.int64(3)])
def test_any_number_will_do(answer: float) -> None:
    worth = ask_worth(Saying(answer), "a", NOTHING)
    assert worth == answer
    assert isinstance(worth, float | int)


@pytest.mark.parametrize("answer", [False, 0, b"no"])
def test_a_refusal_is_a_text(answer: object) -> None:
    with pytest.raises(CachePolicyError, match=r"which is not a text that says why not, or None"):
        ask_admit(Saying(answer), "a", NOTHING)
    assert ask_admit(LeastRecentlyUsed(), "a", NOTHING) is None


def test_what_the_policy_is_told_by_fails_for_itself() -> None:
    with pytest.raises(StateError, match="the disk is full"):
        ask_worth(Saying(StateError("the disk is full")), "a", NOTHING)


def test_an_interrupt_is_nobodys_failure() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask_worth(Saying(KeyboardInterrupt()), "a", NOTHING)
