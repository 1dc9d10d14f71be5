"""Asking a policy, which anybody may have written."""

from __future__ import annotations

import math
import numbers
import re
import typing as t
from collections.abc import Callable
from contextlib import suppress

from couler.caching.policy import CachePolicy, Knowledge
from couler.errors import CachePolicyError, CoulerError
from couler.plugins import cause_of, on_one_line

_Answer = t.TypeVar("_Answer")


def ask_admit(policy: CachePolicy, key: str, known: Knowledge) -> str | None:
    """Return why an artifact is not to be kept at all; None if it may be."""
    answer = _ask(policy, "admit", policy.admit, key, known)
    if answer is None or isinstance(answer, str):
        return None if answer is None else on_one_line(answer)
    raise _no_answer(policy, "admit", key, answer, "a text that says why not, or None")


def ask_credit(policy: CachePolicy, key: str, known: Knowledge) -> float:
    """Return what the policy tells of an artifact that was offered or hit."""
    return _number(policy, "on_access", policy.on_access, key, known)


def ask_worth(policy: CachePolicy, key: str, known: Knowledge) -> float:
    """Return what keeping an artifact is worth."""
    return _number(policy, "worth", policy.worth, key, known)


def _number(
    policy: CachePolicy,
    question: str,
    ask: Callable[[str, Knowledge], float],
    key: str,
    known: Knowledge,
) -> float:
    answer: object = _ask(policy, question, ask, key, known)
    if isinstance(answer, numbers.Real):  # such as float32 of numpy
        with suppress(OverflowError):  # an integer that no float can hold is no answer
            if not math.isnan(number := float(answer)):
                return number
    raise _no_answer(policy, question, key, answer, "a number")


def _ask(
    policy: CachePolicy,
    question: str,
    ask: Callable[[str, Knowledge], _Answer],
    key: str,
    known: Knowledge,
) -> _Answer:
    try:
        return ask(key, known)
    except CoulerError:  # of what it was told by, such as a database that cannot be read
        raise
    # A plugin can raise anything; the cause is kept. A policy that calls sys.exit would end the run
    # without a word, though ending it is up to couler and who interrupts it.
    except (Exception, SystemExit) as error:
        raise CachePolicyError(
            f"the cache policy {_name(policy)}: {question} failed for {_key_text(key)}: "
            f"{cause_of(error)}. {_REMEDY}"
        ) from error


def _no_answer(
    policy: CachePolicy, question: str, key: str, answer: object, wanted: str
) -> CachePolicyError:
    return CachePolicyError(
        f"the cache policy {_name(policy)}: {question} says {on_one_line(repr(answer))} of "
        f"{_key_text(key)}, which is not {wanted}. {_REMEDY}"
    )


_REMEDY = "Mend the policy, or choose another one"

_HASH = re.compile(r"[0-9a-f]{64}")


def _key_text(key: str) -> str:
    """Return what people see of a key: the beginning of a hash, as `couler cache ls` shows it."""
    return repr(key[:12] if _HASH.fullmatch(key) else key)


def _name(policy: CachePolicy) -> str:
    return type(policy).__qualname__
