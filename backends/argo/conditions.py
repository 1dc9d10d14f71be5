"""Conditions as expressions of Argo: the comparisons of docs/semantics.md, section 5."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Sequence

from couler.backends.argo.scope import NUMBERS
from couler.backends.argo.tags import json_literal, quote
from couler.errors import ConditionError
from couler.ir.semantics import TEXT_TYPES
from couler.ir.semantics.comparisons import compare, read_number
from couler.ir.values import And, Compare, Condition, Literal, Not, Operator, Or, Value, ValueType

MAX_EXACT = 2**53
"""Integers up to this are exact as numbers of Argo's expressions, which are floats."""

_MIRRORED: dict[Operator, Operator] = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
_PATTERNS: dict[ValueType, str] = {"int": r"^\s*[-\d]+\s*$", "list": r"^\s*\[", "dict": r"^\s*\{"}
"""What is JSON and matches is of the type."""
_ERROR = "fromJSON('these have no order, or one of them cannot be read as the other')"
"""Ends the expression with an error, and so the step."""


class Values(t.Protocol):
    """Writes the values that a condition compares."""

    def type_of(self, value: Value) -> ValueType:
        """Return the type as which a value travels."""
        ...

    def expression(self, value: Value) -> str:
        """Return an expression for the text by which a value travels."""
        ...

    def is_canonical(self, value: Value) -> bool:
        """Return whether a value travels as JSON of its type, written as Couler does."""
        ...

    def is_checked(self, value: Value) -> bool:
        """Return whether a value is known to be of its declared type: Couler made or read it."""
        ...


class Operand(t.NamedTuple):
    """One side of a comparison."""

    value: Value
    kind: ValueType
    text: str
    """An expression for the text by which it travels."""

    @property
    def is_null(self) -> bool:
        """Whether it is a literal null."""
        return isinstance(self.value, Literal) and self.value.value is None

    @property
    def is_unknown(self) -> bool:
        """Whether only the run knows of what kind it is."""
        return self.kind == "json" and not self.is_null

    @property
    def known_number(self) -> int | float | None:
        """The number that a literal is or reads as."""
        value = self.value.value if isinstance(self.value, Literal) else None
        try:
            return read_number(value) if isinstance(value, str) else value
        except ConditionError:
            return None

    @property
    def is_exact(self) -> bool:
        """Whether comparing it with any number as floats gives the right answer."""
        number = self.known_number
        return self.kind == "float" or (number is not None and abs(number) < MAX_EXACT)


class Conditions:
    """Writes the conditions of one scope."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def expression(self, condition: Condition) -> str:
        """Return an expression that is true or false as the condition is."""
        match condition:
            case Compare():
                return self._compare(condition.left, condition.op, condition.right)
            case And():
                return self._joined(condition.items, " && ", "true")
            case Or():
                return self._joined(condition.items, " || ", "false")
            case Not():
                return f"!({self.expression(condition.item)})"
        t.assert_never(condition)

    def _joined(self, items: Sequence[Condition], operator: str, empty: str) -> str:
        parts = [
            self.expression(item) if isinstance(item, Compare) else f"({self.expression(item)})"
            for item in items
        ]
        return operator.join(parts) or empty

    def _compare(self, left: Value, op: Operator, right: Value) -> str:
        if isinstance(left, Literal) and isinstance(right, Literal):
            try:
                return json_literal(compare(left.value, op, right.value))
            except ConditionError:
                return _ERROR
        a, b = self._operand(left), self._operand(right)
        if a.is_unknown and b.is_unknown:
            return self._unknown_kinds(a, op, b)
        if a.is_unknown:
            return self._all_read(self._unknown_kind(a, op, b), b)
        if b.is_unknown:
            return self._all_read(self._unknown_kind(b, _MIRRORED[op], a), a)
        return self._known_kinds(a, op, b)

    def _all_read(self, compared: str, *operands: Operand) -> str:
        """Have a comparison fail also if it does not look at an operand that is not of its type."""
        reads: dict[ValueType, Callable[[Operand], str]] = {"bool": self._bool}
        reads |= dict.fromkeys(NUMBERS, lambda one: self._number(one, "=="))
        reads |= dict.fromkeys(("list", "dict"), lambda one: f"fromJSON({self._text(one)})")
        unchecked = [one for one in operands if not self._values.is_checked(one.value)]
        texts = [reads[one.kind](one) for one in unchecked if one.kind in reads]
        if not texts or compared == _ERROR:
            return compared
        read = f"[{', '.join(texts)}]"
        # Argo does not evaluate the left side of `&& false`.
        return f"{read} == nil" if compared == "false" else f"{read} != nil && ({compared})"

    def _operand(self, value: Value) -> Operand:
        return Operand(value, self._values.type_of(value), self._values.expression(value))

    def _known_kinds(self, a: Operand, op: Operator, b: Operand) -> str:
        is_equality = op in ("==", "!=")
        kinds = {a.kind, b.kind}
        if kinds <= {*TEXT_TYPES}:
            return f"{a.text} {op} {b.text}"
        if kinds <= {*TEXT_TYPES, *NUMBERS}:
            return self._numeric(a, op, b)
        if is_equality and kinds <= {*TEXT_TYPES, "bool"}:
            return _equal_bools(self._bool(a), op, self._bool(b))
        if is_equality and a.kind == b.kind:
            return f"fromJSON({self._text(a)}) {op} fromJSON({self._text(b)})"
        return self._all_read(_differ(op), a, b)

    def _unknown_kind(self, a: Operand, op: Operator, b: Operand) -> str:
        """Compare a value whose kind only the run knows, `#`, with one of a known kind."""
        value = "fromJSON(#)"
        is_equality = op in ("==", "!=")
        if b.is_null:
            return f"fromJSON({a.text}) {op} nil" if is_equality else _ERROR
        if b.kind in NUMBERS:
            text = f"(type({value}) == 'string' ? {value} : #)"
            if is_equality:
                same = self._compare_text(text, "==", b)
                compared = f"type({value}) in ['string', 'float'] && {same}"
                compared = compared if op == "==" else f"!({compared})"
            else:
                compared = self._compare_text(text, op, b)
        elif b.kind in TEXT_TYPES:
            number = self._compare_text("#", op, b)
            compared = f"type({value}) == 'string' ? {value} {op} {b.text} : "
            if is_equality:
                flag = _equal_bools(value, op, self._bool(b))
                number = f"type({value}) == 'float' ? {number} : "
                number += f"type({value}) == 'bool' ? {flag} : {_differ(op)}"
            compared += number
        elif not is_equality:
            return _ERROR
        elif b.kind == "bool":
            read = f"(type({value}) == 'string' ? {_read_bool(value)} : {value})"
            compared = f"{read} {op} {self._bool(b)}"
        else:
            compared = f"{value} {op} fromJSON({self._text(b)})"
        return f"any([{a.text}], {compared})"

    def _unknown_kinds(self, a: Operand, op: Operator, b: Operand) -> str:
        """Compare two values whose kinds only the run knows, `#[0]` and `#[1]`."""
        v, w = "fromJSON(#[0])", "fromJSON(#[1])"
        texts = [f"(type({value}) == 'string' ? {value} : #[{i}])" for i, value in ((0, v), (1, w))]
        number = _compare_digits(texts[0], op, texts[1])
        if op in ("==", "!="):
            kinds = f"[type({v}), type({w})]"
            one_is = f"{kinds} in [['float', 'float'], ['float', 'string'], ['string', 'float']]"
            compared = (
                f"{one_is} ? {number} : "
                f"{kinds} == ['string', 'bool'] ? {_read_bool(v)} {op} {w} : "
                f"{kinds} == ['bool', 'string'] ? {v} {op} {_read_bool(w)} : "
                f"{v} {op} {w}"
            )
        else:
            compared = f"type({v}) == 'string' && type({w}) == 'string' ? {v} {op} {w} : {number}"
        return f"any([[{a.text}, {b.text}]], {compared})"

    def _numeric(self, a: Operand, op: Operator, b: Operand) -> str:
        canonical = all(map(self._values.is_canonical, (a.value, b.value)))
        if canonical and a.kind == b.kind == "int" and op in ("==", "!="):
            return f"{a.text} {op} {b.text}"
        if a.is_exact or b.is_exact:
            return f"{self._number(a, op)} {op} {self._number(b, op)}"
        return _compare_digits(self._text(a), op, self._text(b))

    def _compare_text(self, text: str, op: Operator, b: Operand) -> str:
        """Compare a text as a number with a number."""
        if b.is_exact:
            return f"{_read_number(text, op)} {op} {self._number(b, op)}"
        return _compare_digits(text, op, self._text(b))

    def _number(self, one: Operand, op: Operator) -> str:
        number = one.known_number
        if number is not None:
            return json_literal(number if one.is_exact else float(number))
        if one.kind in NUMBERS and self._values.is_checked(one.value):
            is_canonical = self._values.is_canonical(one.value)
            return f"float({one.text})" if is_canonical else f"fromJSON({one.text})"
        if one.kind == "int":
            return f"fromJSON({_trim(one.text)} + '.0')"  # which fails for all but an integer
        return _read_number(one.text, op)

    def _text(self, one: Operand) -> str:
        """The text of an operand, or one that is no JSON if it is not of its type."""
        pattern = _PATTERNS.get(one.kind)
        if pattern is None or self._values.is_checked(one.value):
            return one.text
        return f"({one.text} matches {quote(pattern)} ? {one.text} : '')"

    def _bool(self, one: Operand) -> str:
        if isinstance(one.value, Literal) and one.kind == "bool":
            return json_literal(one.value.value)
        if one.kind == "bool" and self._values.is_canonical(one.value):
            return f"({one.text} == 'true')"
        return _read_bool(one.text, is_declared=one.kind == "bool")


def _differ(op: Operator) -> str:
    """The outcome for values of different kinds."""
    return {"==": "false", "!=": "true"}.get(op, _ERROR)


def _equal_bools(left: str, op: Operator, right: str) -> str:
    """Compare two booleans; one that is known is left out."""
    for one, other in ((left, right), (right, left)):
        if other in ("true", "false"):
            return one if (other == "true") == (op == "==") else f"!{one}"
    return f"{left} {op} {right}"


def _read_bool(text: str, *, is_declared: bool = False) -> str:
    """A boolean from its text, or an error if it is none."""
    python = "" if is_declared else ", 'True': 1, 'False': 0"
    return f"({{'true': 1, 'false': 0{python}}}[{_trim(text)}] + 0 == 1)"


def _trim(text: str) -> str:
    """A text without the white space of JSON around it."""
    return f"trim({text}, ' \\t\\r\\n')"


def _read_number(text: str, op: Operator) -> str:
    """A number from its text, or an error if it is none: an order has only a number with one."""
    return f"(fromJSON({text}) + 0)" if op in ("==", "!=") else f"fromJSON({text})"


def _compare_digits(left: str, op: Operator, right: str) -> str:
    """Compare two texts as numbers: as floats, and by their digits where those are equal."""
    if op in (">", "<="):
        inner = _compare_digits(right, "<", left)
        return inner if op == ">" else f"!{inner}"
    if op in ("!=", ">="):
        return f"!{_compare_digits(left, '==' if op == '!=' else '<', right)}"
    a, b = "fromJSON(#[0])", "fromJSON(#[1])"
    are_integers = "#[0] + #[1] matches '^[-0-9]+$'"
    if op == "==":
        body = (
            f"{a} + 0 == {b} + 0 && (abs({a}) < {MAX_EXACT} || #[0] == #[1] || !({are_integers}))"
        )
    else:
        shorter = "(len(#[0]) == len(#[1]) ? #[0] < #[1] : len(#[0]) < len(#[1]))"
        body = (
            f"{a} + 0 < {b} + 0 || {a} == {b} && abs({a}) >= {MAX_EXACT} && #[0] != #[1] && "
            f"{are_integers} && {shorter} != (#[0] startsWith '-')"
        )
    return f"any([[{_trim(left)}, {_trim(right)}]], {body})"
