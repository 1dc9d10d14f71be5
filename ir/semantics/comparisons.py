"""Comparisons of JSON values (docs/semantics.md, section 5). DAG files carry these functions."""

from __future__ import annotations

import operator
from typing import Any

from couler.errors import ConditionError


def compare(left: Any, op: str, right: Any) -> bool:
    """Compare two values; text that meets a number or a boolean is read as one."""
    left, right = read_as(left, right), read_as(right, left)
    if op in ("==", "!="):
        return equal(left, right) == (op == "==")
    both_texts = isinstance(left, str) and isinstance(right, str)
    if not both_texts and not (is_number(left) and is_number(right)):
        raise ConditionError(
            f"{left!r:.60} {op} {right!r:.60}: only two numbers or two texts have an order"
        )
    orders = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    return bool(orders[op](left, right))


def read_as(value: Any, other: Any) -> Any:
    """Return a text as a number or a boolean where it is compared with one."""
    if not isinstance(value, str) or not isinstance(other, (bool, int, float)):
        return value
    if not isinstance(other, bool):
        return read_number(value)
    truths = {"true": True, "True": True, "false": False, "False": False}
    if value.strip() not in truths:
        raise ConditionError(f"{value!r:.60} is compared with true or false, but it is neither")
    return truths[value.strip()]


def read_number(text: str) -> int | float:
    """Read text as a number in decimal notation, blanks around it ignored."""
    for kind in (int, float):
        try:
            number = kind(text.strip())
        except ValueError:
            continue
        if "_" not in text and abs(number) < float("inf"):
            return number
    raise ConditionError(f"{text!r:.60} is compared with a number, but it is not one")


def is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def equal(left: Any, right: Any) -> bool:
    """Return whether two values are equal; those of different kinds are not."""
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(equal(left[key], right[key]) for key in left)
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)
