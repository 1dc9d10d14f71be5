"""Comparisons of JSON values (docs/semantics.md, section 5). DAG files carry these functions."""

from __future__ import annotations

import json
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
    if isinstance(left, float) or isinstance(right, float):
        left, right = as_float(left), as_float(right)
    orders = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    return bool(orders[op](left, right))


def read_as(value: Any, other: Any) -> Any:
    """Return a text as a number or a boolean where it is compared with one."""
    if not isinstance(value, str) or not isinstance(other, (bool, int, float)):
        return value
    if not isinstance(other, bool):
        return read_number(value)
    truths = {"true": True, "True": True, "false": False, "False": False}
    if value.strip(" \t\r\n") not in truths:
        raise ConditionError(f"{value!r:.60} is compared with true or false, but it is neither")
    return truths[value.strip(" \t\r\n")]


def read_number(text: str) -> Any:
    """Read text as a number, as JSON writes it."""
    try:
        number = json.loads(text)
    except (RecursionError, ValueError):
        number = None
    if is_number(number) and abs(number) < float("inf"):
        return number
    raise ConditionError(f"{text!r:.60} is compared with a number, but it is not one")


def is_number(value: Any) -> bool:
    """Return whether a value is a number; True and False are none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def as_float(number: Any) -> float:
    """Return a number as the nearest float; fail if it is too large for one."""
    try:
        return float(number)
    except OverflowError:
        raise ConditionError(f"{number!r:.60} is too large to be compared") from None


def equal(left: Any, right: Any, inside: bool = False) -> bool:
    """Return whether two values are equal; inside of lists and objects numbers are floats."""
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(equal, left, right, [True] * len(left)))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            equal(left[key], right[key], True) for key in left
        )
    if is_number(left) and is_number(right):
        is_exact = isinstance(left, int) and isinstance(right, int) and not inside
        return left == right if is_exact else as_float(left) == as_float(right)
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)
