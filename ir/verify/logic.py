"""What can be known of conditions before a run: the results that they can have."""

from __future__ import annotations

import contextlib
import itertools
import math
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from couler.errors import ConditionError
from couler.ir.semantics.comparisons import compare, is_number, read_number
from couler.ir.values import And, Compare, Condition, Literal, Not, Operator, Or, ParamRef, Value

_MAX_FACTS = 8

_SWAPPED: dict[Operator, Operator] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NEGATED: dict[Operator, Operator] = {"!=": "==", ">=": "<", "<=": ">"}


@dataclass(frozen=True, slots=True)
class Formula:
    """Facts, by key, joined by `and`, `or` and `not`."""

    kind: t.Literal["fact", "and", "or", "not"]
    key: str = ""
    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class _Comparison:
    operand: str
    op: Operator
    literal: t.Any
    domain: tuple[object, ...] | None


class Logic:
    """Formulas over one set of facts."""

    def __init__(self, domains: Mapping[str, tuple[object, ...]]) -> None:
        self._domains = domains
        self._comparisons: dict[str, _Comparison] = {}
        self._known: dict[str, bool] = {}

    def fact(self, key: str) -> Formula:
        """Return a fact that may be true or false."""
        return Formula("fact", key)

    def negation(self, formula: Formula) -> Formula:
        """Return what is true where a formula is not."""
        return Formula("not", parts=(formula,))

    def all_of(self, formulas: Iterable[Formula]) -> Formula:
        """Return what is true where all formulas are."""
        return Formula("and", parts=tuple(formulas))

    def any_of(self, formulas: Iterable[Formula]) -> Formula:
        """Return what is true where some formula is."""
        return Formula("or", parts=tuple(formulas))

    def formula(self, condition: Condition) -> Formula:
        """Return a condition as a formula."""
        match condition:
            case Compare():
                return self._compare(condition)
            case And():
                return self.all_of(map(self.formula, condition.items))
            case Or():
                return self.any_of(map(self.formula, condition.items))
            case Not():
                return self.negation(self.formula(condition.item))
        t.assert_never(condition)

    def decide(self, condition: Compare, equal: bool) -> None:
        """State whether the two sides of an `==` or `!=` are equal."""
        formula = self._compare(condition)
        self._known[next(_facts(formula))] = equal

    def results(self, formula: Formula) -> frozenset[bool]:
        """Return the results that a formula can have; both where there are too many facts."""
        keys = tuple(dict.fromkeys(_facts(formula)))
        free = [key for key in keys if key not in self._known]
        if len(free) > _MAX_FACTS:
            return frozenset((True, False))
        found: set[bool] = set()
        for choice in itertools.product((True, False), repeat=len(free)):
            facts = self._known | dict(zip(free, choice, strict=True))
            if self._is_possible(facts, keys):
                found.add(_value(formula, facts))
                if len(found) == 2:
                    break
        return frozenset(found)

    def _compare(self, condition: Compare) -> Formula:
        left, op, right = condition.left, condition.op, condition.right
        if isinstance(left, Literal) and not isinstance(right, Literal):
            left, op, right = right, _SWAPPED.get(op, op), left
        if op in _NEGATED:
            return self.negation(self._positive(left, _NEGATED[op], right))
        return self._positive(left, op, right)

    def _positive(self, left: Value, op: Operator, right: Value) -> Formula:
        operand = left.model_dump_json()
        key = f"{operand} {op} {right.model_dump_json()}"
        if isinstance(right, Literal):
            if isinstance(left, Literal):
                with contextlib.suppress(ConditionError):  # reported where it is checked
                    self._known[key] = compare(left.value, op, right.value)
            else:
                domain = self._domains.get(left.name) if isinstance(left, ParamRef) else None
                self._comparisons[key] = _Comparison(operand, op, right.value, domain)
        return Formula("fact", key)

    def _is_possible(self, facts: Mapping[str, bool], keys: Iterable[str]) -> bool:
        by_operand: dict[str, list[tuple[_Comparison, bool]]] = {}
        for key in keys:
            comparison = self._comparisons.get(key)
            if comparison is not None:
                by_operand.setdefault(comparison.operand, []).append((comparison, facts[key]))
        return all(map(_some_value_fits, by_operand.values()))


def _facts(formula: Formula) -> Iterator[str]:
    if formula.kind == "fact":
        yield formula.key
    for part in formula.parts:
        yield from _facts(part)


def _value(formula: Formula, facts: Mapping[str, bool]) -> bool:
    match formula.kind:
        case "fact":
            return facts[formula.key]
        case "and":
            return all(_value(part, facts) for part in formula.parts)
        case "or":
            return any(_value(part, facts) for part in formula.parts)
        case "not":
            return not _value(formula.parts[0], facts)
    t.assert_never(formula.kind)


def _some_value_fits(wanted: list[tuple[_Comparison, bool]]) -> bool:
    """Return whether one operand can give all these results; True where that is not certain."""
    domain = wanted[0][0].domain
    if domain is not None:
        return any(all(_gives(value, *result) for result in wanted) for value in domain)
    equal = [_readings(c.literal) for c, truth in wanted if truth and c.op == "=="]
    unequal = [_readings(c.literal) for c, truth in wanted if not truth and c.op == "=="]
    low, high, low_open, high_open = -math.inf, math.inf, False, False
    for comparison, truth in wanted:
        bound = comparison.literal
        if comparison.op == "==" or not is_number(bound) or abs(bound) >= 2**53:
            continue  # two larger ones can be equal as floats
        # Only < and > are left of the orderings: the others are their negations.
        if (comparison.op == "<") == truth:
            if bound < high or (bound == high and truth):
                high, high_open = bound, truth
        elif bound > low or (bound == low and truth):
            low, low_open = bound, truth
    if low > high or (low == high and (low_open or high_open)):
        return False
    if not equal:
        return True
    common = frozenset.intersection(*equal)
    if (low, high) != (-math.inf, math.inf):
        common = frozenset(
            (kind, value)
            for kind, value in common
            if is_number(value)
            and low <= value <= high
            and not (value == low and low_open)
            and not (value == high and high_open)
        )
    # Lists and objects are left alone: to Python (1,) and (True,) are equal.
    return any(
        one[0] == "json" or all(other != frozenset((one,)) for other in unequal) for one in common
    )


def _gives(value: object, comparison: _Comparison, truth: bool) -> bool:
    try:
        return compare(value, comparison.op, comparison.literal) == truth
    except ConditionError:
        return True  # the step fails, which is neither result


def _readings(literal: t.Any) -> frozenset[tuple[str, t.Any]]:
    """Return the values that something equal to a literal can have, as comparisons read them."""
    if isinstance(literal, bool):
        return frozenset((("bool", literal),))
    if isinstance(literal, int | float):  # two larger ones can be equal as floats
        return frozenset((("number" if abs(literal) <= 2**53 else "json", literal),))
    if not isinstance(literal, str):
        return frozenset((("json", literal),))
    readings: set[tuple[str, t.Any]] = {("text", literal)}
    with contextlib.suppress(ConditionError):
        readings |= _readings(read_number(literal))
    if literal.strip().lower() in ("true", "false"):
        readings.add(("bool", literal.strip().lower() == "true"))
    return frozenset(readings)
