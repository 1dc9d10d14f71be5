"""Conditions by the values for which they hold: the same for all ways of writing one."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from math import prod

from benchmarks.nl.expressions import Expression, Known
from couler.errors import ConditionError
from couler.ir.semantics.comparisons import compare, is_number
from couler.ir.values import And, Compare, Condition, Not, Operator, Or, Value

MAX_ROWS = 50_000
"""Conditions over more combinations of values are compared by how comparisons are joined."""

_OPPOSITE: Mapping[Operator, Operator] = {
    "==": "!=",
    "!=": "==",
    "<": ">=",
    ">=": "<",
    ">": "<=",
    "<=": ">",
}
_TURNED: Mapping[str, Operator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}


@dataclass(frozen=True)
class Comparison:
    """A value compared with a constant (on the right), or two values in the order of `repr`."""

    op: Operator
    left: Expression
    right: Expression

    @property
    def subject(self) -> Subject:
        """The values that are not known when the workflow is built."""
        return tuple(one for one in (self.left, self.right) if not isinstance(one, Known))


@dataclass(frozen=True)
class Junction:
    """Conditions joined by `and` or `or`."""

    how: t.Literal["and", "or"]
    parts: tuple[Test, ...]


Test: t.TypeAlias = Comparison | Junction
Subject: t.TypeAlias = tuple[Expression, ...]
Case: t.TypeAlias = frozenset[tuple[Subject, frozenset[str]]]
"""Subjects, each with the values for which a condition holds; of two values, their order."""


def as_test(
    condition: Condition, resolve: Callable[[Value], Expression], holds: bool = True
) -> Test:
    """Return a condition, or its negation, over expressions."""
    match condition:
        case Not():
            return as_test(condition.item, resolve, not holds)
        case And() | Or():
            is_and = isinstance(condition, And) == holds
            parts = tuple(as_test(one, resolve, holds) for one in condition.items)
            return Junction("and" if is_and else "or", parts)
        case Compare():
            op = condition.op if holds else _OPPOSITE[condition.op]
            left, right = resolve(condition.left), resolve(condition.right)
            if isinstance(left, Known) or (
                not isinstance(right, Known) and repr(right) < repr(left)
            ):
                op, left, right = _TURNED.get(op, op), right, left
            return Comparison(op, left, right)
    t.assert_never(condition)


def comparisons(*tests: Test | None) -> Iterator[Comparison]:
    """Yield the comparisons of conditions."""
    for test in tests:
        if isinstance(test, Comparison):
            yield test
        elif test is not None:
            yield from comparisons(*test.parts)


def constants(*tests: Test | None) -> tuple[t.Any, ...]:
    """Return what conditions compare values with."""
    found = (one.right.value for one in comparisons(*tests) if isinstance(one.right, Known))
    return tuple({repr(value): value for value in found}.values())


@dataclass(frozen=True)
class ValueRanges:
    """What conditions tell apart: for each range between their constants a value in it."""

    constants: tuple[t.Any, ...]
    known: Callable[[Expression], tuple[t.Any, ...] | None] = lambda _: None
    """All values that an expression can have; None where these are not known."""

    def cases(self, *tests: Test) -> frozenset[Case]:
        """Return when conditions hold together: no case if never, the empty one if always."""
        columns = {subject: self._values(subject, own) for subject, own in _compared(tests).items()}
        if prod(map(len, columns.values())) > MAX_ROWS:
            return _joined(Junction("and", tests), columns)
        rows = (dict(zip(columns, row, strict=True)) for row in product(*columns.values()))
        true = [row for row in rows if all(_holds(test, row) for test in tests)]
        alike = {subject: _alike(subject, values, true) for subject, values in columns.items()}
        return frozenset(
            frozenset(
                (subject, alike[subject][repr(value)])
                for subject, value in row.items()
                if len(alike[subject][repr(value)]) < len(columns[subject])
            )
            for row in true
        )

    def _values(self, subject: Subject, own: list[t.Any]) -> tuple[t.Any, ...]:
        if len(subject) != 1:
            return (-1, 0, 1) if subject else (None,)
        known = self.known(subject[0])
        if known is not None or all(isinstance(value, bool) for value in own):
            return known or (True, False)
        every = (*own, *self.constants)
        numbers = sorted({float(one) for one in every if is_number(one)})
        if not all(map(is_number, own)):
            others = {repr(value): value for value in every if not is_number(value)}
            return (*others.values(), *numbers, "another text")
        between = [(low + high) / 2 for low, high in pairwise(numbers)]
        return (numbers[0] - 1, *numbers, *between, numbers[-1] + 1)


def _compared(tests: Iterable[Test]) -> dict[Subject, list[t.Any]]:
    found: dict[Subject, list[t.Any]] = {}
    for one in comparisons(*tests):
        found.setdefault(one.subject, []).extend(constants(one))
    return found


def _holds(test: Test, values: Mapping[Subject, t.Any]) -> bool:
    if isinstance(test, Junction):
        return (all if test.how == "and" else any)(_holds(one, values) for one in test.parts)
    value = test.left.value if isinstance(test.left, Known) else values[test.subject]
    other = test.right.value if isinstance(test.right, Known) else 0
    try:
        return compare(value, test.op, other)
    except ConditionError:
        return False


def _joined(test: Test, columns: Mapping[Subject, tuple[t.Any, ...]]) -> frozenset[Case]:
    """Return the cases of a condition in disjunctive normal form, by its comparisons."""
    if isinstance(test, Comparison):
        values = columns[test.subject]
        true = [repr(one) for one in values if _holds(test, {test.subject: one})]
        case = ((test.subject, frozenset(true)),) if len(true) < len(values) else ()
        return frozenset((frozenset(case),) if true else ())
    parts = [_joined(one, columns) for one in test.parts]
    rows = product(*parts) if test.how == "and" else ((case,) for part in parts for case in part)
    return frozenset(frozenset().union(*row) for row in rows)


def _alike(
    subject: Subject, values: Iterable[t.Any], true: Iterable[Mapping[Subject, t.Any]]
) -> dict[str, frozenset[str]]:
    """Return by value those for which a condition holds in the same cases of other subjects."""
    seen: dict[str, set[Hashable]] = {repr(value): set() for value in values}
    for row in true:
        seen[repr(row[subject])].add(
            frozenset((key, repr(value)) for key, value in row.items() if key != subject)
        )
    groups: dict[frozenset[Hashable], set[str]] = {}
    for value, rest in seen.items():
        groups.setdefault(frozenset(rest), set()).add(value)
    return {value: frozenset(groups[frozenset(rest)]) for value, rest in seen.items()}
