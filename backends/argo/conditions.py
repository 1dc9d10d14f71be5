"""Conditions as expressions of Argo: the comparisons of docs/semantics.md, section 5."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from couler.backends.argo.scope import NUMBERS, TEXTS
from couler.backends.argo.tags import json_literal
from couler.ir.conditions import And, Compare, Condition, Not, Operator, Or
from couler.ir.values import Literal, Value, ValueType
from couler.ir.workflow import Step


class Types(t.Protocol):
    """Knows the types of values."""

    def type_of(self, value: Value, step: Step | None = None) -> ValueType:
        """Return the type as which a value travels."""
        ...


class Values(t.Protocol):
    """Writes the values that a condition compares."""

    @property
    def view(self) -> Types:
        """The types of the values."""
        ...

    def expression(self, value: Value) -> str:
        """Return an expression for the text by which a value travels."""
        ...

    def json_value(self, value: Value) -> str:
        """Return an expression for the JSON value itself."""
        ...


class Conditions:
    """Writes the conditions of one scope."""

    def __init__(self, values: Values, *, to_json: str = "toJson") -> None:
        self._values = values
        self._to_json = to_json

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
        kinds = self._values.view.type_of(left), self._values.view.type_of(right)
        if all(kind in TEXTS for kind in kinds) or kinds == ("bool", "bool"):
            return f"{self._values.expression(left)} {op} {self._values.expression(right)}"
        if any(kind in NUMBERS for kind in kinds):
            if op in ("==", "!=") and "json" in kinds:
                return self._is_number(left, right, negated=op == "!=")
            return f"{self._number(left)} {op} {self._number(right)}"
        if "bool" in kinds and any(kind in TEXTS for kind in kinds):
            return f"{self._bool(left)} {op} {self._bool(right)}"
        if op in ("==", "!=") and "json" in kinds:
            return self._loosely_equal(left, right, negated=op == "!=")
        a, b = self._values.json_value(left), self._values.json_value(right)
        return self._same(a, op, b) if op in ("==", "!=") else f"{a} {op} {b}"

    def _loosely_equal(self, left: Value, right: Value, *, negated: bool) -> str:
        """Equality of values whose types only the run knows: text beside a number is parsed."""
        a, b = self._values.json_value(left), self._values.json_value(right)
        kinds = self._values.view.type_of(left), self._values.view.type_of(right)
        same = self._same(a, "==", b)
        has_literal = isinstance(left, Literal) or isinstance(right, Literal)
        # Only branches that can be taken: others would not pass expr's check of types.
        for text, other, (text_kind, other_kind) in ((b, a, kinds[::-1]), (a, b, kinds)):
            if has_literal and kinds == ("json", "json"):  # the literal is null
                continue
            if text_kind != "json" and text_kind not in TEXTS:
                continue
            is_text = f"type({text}) == 'string'"
            if other_kind in ("json", "bool"):
                read = f"{self._read_bool(text)} == {other}"
                same = f"{is_text} && type({other}) == 'bool' ? {read} : {same}"
            if other_kind == "json":
                read = f"float(trim({text})) == float({other})"
                same = f"{is_text} && type({other}) in ['int', 'float'] ? {read} : {same}"
        return f"!({same})" if negated else f"({same})"

    def _is_number(self, left: Value, right: Value, *, negated: bool) -> str:
        """Equality of a value of any kind with a number, which is unequal to lists and the like."""
        is_left = self._values.view.type_of(left) == "json"
        value, number = (left, right) if is_left else (right, left)
        is_one = "type(#) in ['string', 'int', 'float']"
        equal = f"float(#) == {self._number(number)}"
        same = f"any([{self._values.json_value(value)}], {is_one} && {equal})"
        return f"!{same}" if negated else same

    def _same(self, left: str, op: Operator, right: str) -> str:
        return f"{self._to_json}({left}) {op} {self._to_json}({right})"

    def _number(self, value: Value) -> str:
        if isinstance(value, Literal) and not isinstance(value.value, str):
            return json_literal(value.value)
        kind = self._values.view.type_of(value)
        if kind == "int":
            return f"int({self._values.expression(value)})"
        if kind in TEXTS:
            return f"float(trim({self._values.expression(value)}))"
        if kind == "json":
            return f"float({self._values.json_value(value)})"
        return f"float({self._values.expression(value)})"

    def _bool(self, value: Value) -> str:
        """A boolean, or an error where a text is none: `int` of any other text fails."""
        if self._values.view.type_of(value) == "bool":
            return self._values.json_value(value)
        return self._read_bool(self._values.expression(value))

    @staticmethod
    def _read_bool(expression: str) -> str:
        text = f"trim({expression})"
        return (
            f"(int({text} in ['true', 'True'] ? '1' : "
            f"{text} in ['false', 'False'] ? '0' : {text}) == 1)"
        )
