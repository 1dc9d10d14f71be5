"""Conditions, as a program writes them, and the ancestor's predicates."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterator

from couler.dsl._context import ProgramError
from couler.dsl.handles import Value, literal
from couler.errors import ConditionError
from couler.ir import values as ir
from couler.ir.semantics.comparisons import compare

_MISSING: t.Any = object()

Resolve: t.TypeAlias = "Callable[[Value], ir.Value]"


class Condition:
    """A condition on values of the workflow; combine conditions with `&`, `|` and `~`."""

    __slots__ = ()

    def _build(self, resolve: Resolve) -> ir.Condition:
        """Return the condition of the IR, its values as `resolve` gives them."""
        raise NotImplementedError

    def _values(self) -> Iterator[Value]:
        """Yield the values that it reads."""
        raise NotImplementedError

    def _known(self) -> bool | None:
        """Return its result if that is known while the workflow is built."""
        return None

    def _completed(self, value: Value) -> Condition:
        """Return the condition with a value in place of sides that are missing."""
        return self

    def __and__(self, other: Condition | bool) -> Condition:
        return Combination(ir.And, (self, as_test(other)))

    __rand__ = __and__

    def __or__(self, other: Condition | bool) -> Condition:
        return Combination(ir.Or, (self, as_test(other)))

    __ror__ = __or__

    def __invert__(self) -> Condition:
        return Negation(self)

    def __bool__(self) -> bool:
        raise ProgramError(
            "CLR113",
            "whether a condition holds is known only when the workflow runs. "
            "Use couler.when(condition) in place of if, `&`, `|` and `~` in place of and, or and "
            "not, and (a < b) & (b < c) in place of a < b < c",
        )


class Comparison(Condition):
    """Two sides compared; a side that is missing is filled in by a loop."""

    __slots__ = ("left", "op", "right")

    def __init__(self, left: object, op: ir.Operator, right: object = _MISSING) -> None:
        self.left = left
        self.op = op
        self.right = right

    def _completed(self, value: Value) -> Condition:
        return Comparison(value, self.op, self.left) if self.right is _MISSING else self

    def _build(self, resolve: Resolve) -> ir.Condition:
        if self.right is _MISSING:
            raise ProgramError(
                "CLR120",
                "a condition with one side is for couler.exec_while only; "
                'name both sides: couler.equal(value, "text")',
            )
        left, right = (
            resolve(side) if isinstance(side, Value) else literal(side)
            for side in (self.left, self.right)
        )
        return ir.Compare(left=left, op=self.op, right=right)

    def _values(self) -> Iterator[Value]:
        yield from (side for side in (self.left, self.right) if isinstance(side, Value))

    def _known(self) -> bool | None:
        if self.right is _MISSING or any(True for _ in self._values()):
            return None
        left, right = literal(self.left), literal(self.right)
        try:
            return compare(left.value, self.op, right.value)
        except ConditionError as error:
            raise ProgramError("CLR121", f"{error}") from error

    def __repr__(self) -> str:
        right = "" if self.right is _MISSING else f" {self.right!r}"
        return f"<couler condition {self.left!r} {self.op}{right}>"


class Combination(Condition):
    """Conditions joined by and, or by or."""

    __slots__ = ("items", "kind")

    def __init__(self, kind: type[ir.And] | type[ir.Or], items: tuple[Condition, ...]) -> None:
        self.kind = kind
        self.items = items

    def _build(self, resolve: Resolve) -> ir.Condition:
        built = [item._build(resolve) for item in self.items]
        flat = [
            part for one in built for part in (one.items if isinstance(one, self.kind) else (one,))
        ]
        return self.kind(items=tuple(flat))

    def _values(self) -> Iterator[Value]:
        for item in self.items:
            yield from item._values()

    def _known(self) -> bool | None:
        known = [item._known() for item in self.items]
        decides = self.kind is ir.Or
        if decides in known:
            return decides
        return None if None in known else not decides

    def _completed(self, value: Value) -> Condition:
        return Combination(self.kind, tuple(item._completed(value) for item in self.items))

    def __repr__(self) -> str:
        return f"<couler condition {self.kind.__name__.lower()} of {list(self.items)!r}>"


class Negation(Condition):
    """The opposite of a condition."""

    __slots__ = ("item",)

    def __init__(self, item: Condition) -> None:
        self.item = item

    def _build(self, resolve: Resolve) -> ir.Condition:
        return ir.Not(item=self.item._build(resolve))

    def _values(self) -> Iterator[Value]:
        return self.item._values()

    def _known(self) -> bool | None:
        known = self.item._known()
        return None if known is None else not known

    def _completed(self, value: Value) -> Condition:
        return Negation(self.item._completed(value))

    def __invert__(self) -> Condition:
        return self.item

    def __repr__(self) -> str:
        return f"<couler condition not {self.item!r}>"


class Constant(Condition):
    """A condition whose result is known while the workflow is built."""

    __slots__ = ("holds",)

    def __init__(self, holds: bool) -> None:
        self.holds = holds

    def _build(self, resolve: Resolve) -> ir.Condition:
        return ir.Compare(left=ir.Literal(value=self.holds), op="==", right=ir.Literal(value=True))

    def _values(self) -> Iterator[Value]:
        return iter(())

    def _known(self) -> bool | None:
        return self.holds


def as_test(condition: object) -> Condition:
    """Return a condition that a program gave in one of its forms."""
    if isinstance(condition, Condition):
        return condition
    if isinstance(condition, bool):
        return Constant(condition)
    if isinstance(condition, Value):
        return Comparison(condition, "==", True)
    from couler.dsl.checks import shown

    raise ProgramError(
        "CLR120",
        f"{shown(condition)} is no condition; compare values of the workflow, as in "
        'value == "text" or couler.equal(value, "text")',
    )


def _predicate(left: object, op: ir.Operator, right: object) -> Condition:
    return Comparison(_operand(left), op, right if right is _MISSING else _operand(right))


def _operand(value: object) -> object:
    if isinstance(value, list | tuple) and value and isinstance(value[0], Value):
        return value[0]  # the ancestor's steps returned lists
    if callable(value) and not isinstance(value, Value):
        return _operand(value())
    return value


def equal(pre: object, post: object = _MISSING) -> Condition:
    """Return the condition `pre == post`; with one side it is for `exec_while`."""
    return _predicate(pre, "==", post)


def not_equal(pre: object, post: object = _MISSING) -> Condition:
    """Return the condition `pre != post`; with one side it is for `exec_while`."""
    return _predicate(pre, "!=", post)


def bigger(pre: object, post: object = _MISSING) -> Condition:
    """Return the condition `pre > post`; with one side it is for `exec_while`."""
    return _predicate(pre, ">", post)


def smaller(pre: object, post: object = _MISSING) -> Condition:
    """Return the condition `pre < post`; with one side it is for `exec_while`."""
    return _predicate(pre, "<", post)


def bigger_equal(pre: object, post: object = _MISSING) -> Condition:
    """Return the condition `pre >= post`; with one side it is for `exec_while`."""
    return _predicate(pre, ">=", post)


def smaller_equal(pre: object, post: object = _MISSING) -> Condition:
    """Return the condition `pre <= post`; with one side it is for `exec_while`."""
    return _predicate(pre, "<=", post)
