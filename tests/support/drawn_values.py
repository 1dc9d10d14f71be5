"""Values drawn at random, and the ways that they travel: what readers and conditions must see."""

from __future__ import annotations

import json
import math
import operator
import random
import typing as t
from collections.abc import Iterator

from couler.ir.policies import Foreach
from couler.ir.values import (
    Compare,
    Field,
    FirstOf,
    Literal,
    Operator,
    OrElse,
    ParamRef,
    StepRef,
    Template,
    Value,
    ValueType,
    literal_type,
)
from couler.ir.workflow import Output, Parameter, Script, Step, Workflow

Json: t.TypeAlias = t.Any

PIECES = (
    *"abz019 \t\n\r'\"\\/{}[]:,;<>&$%#é\u2028\u2029\x01\x7f\ue000\U0001f600",
    *("{{", "}}", "{{x}}", "{{item}}", "{{=1}}", "$$", "$(HOME)", "\\u0041", "null", "true", "1e3"),
)
INTEGERS = (0, 1, -1, 42, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**63, 2**64 + 1, 10**30)
FLOATS = (0.0, -0.0, 1.0, 0.1, -2.5, 1e-7, 1e16, 1e22, 5e-324, 1.7976931348623157e308, 2.0**53)
OPERATORS: tuple[Operator, ...] = ("==", "!=", "<", "<=", ">", ">=")


class FailsError(Exception):
    """The step that reads fails."""


class Way(t.NamedTuple):
    """A value of a workflow, and the text or the truth that it must come to."""

    name: str
    workflow: Workflow
    value: Value | Compare
    expected: str | bool | None
    """None where the step fails."""
    texts: dict[str, str]
    """The texts of the parameters and of the steps' outputs, by name."""

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The parameters of the workflow."""
        return self.workflow.parameters

    @property
    def steps(self) -> dict[str, Step]:
        """The steps of the workflow, by name."""
        return {step.name: step for step in self.workflow.steps}


def dumped(value: Json) -> str:
    """Return a value as JSON on the wire."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def written(value: Json) -> str:
    """Return the text of a value for a reader of text."""
    return value if isinstance(value, str) else dumped(value)


def draw_text(draw: random.Random) -> str:
    """Draw a text."""
    return "".join(draw.choice(PIECES) for _ in range(draw.choice((0, 1, 3, 8))))


def draw_scalar(draw: random.Random) -> Json:
    """Draw a text, a number, a boolean or null."""
    kinds = (
        lambda: draw_text(draw),
        lambda: draw.choice(INTEGERS),
        lambda: draw.randint(-(10**20), 10**20),
        lambda: draw.choice(FLOATS),
        lambda: draw.uniform(-1e6, 1e6),
        lambda: draw.choice((True, False, None)),
        lambda: str(draw.choice((*INTEGERS, *FLOATS))),
    )
    return draw.choice(kinds)()


def draw_value(draw: random.Random, depth: int = 2) -> Json:
    """Draw any JSON value."""
    shape = draw.choice(("scalar", "scalar", "list", "dict")) if depth else "scalar"
    if shape == "scalar":
        return draw_scalar(draw)
    inner = [draw_value(draw, depth - 1) for _ in range(draw.choice((0, 1, 2, 4)))]
    return inner if shape == "list" else {draw_text(draw): one for one in inner}


def draw_path(draw: random.Random, value: Json) -> tuple[tuple[str | int, ...], Json]:
    """Draw a path into a value, and return it with what is there."""
    path: list[str | int] = []
    while isinstance(value, list | dict) and value and (not path or draw.random() < 0.7):
        key = draw.choice([*value] if isinstance(value, dict) else range(len(value)))
        path.append(key)
        value = value[key]
    return tuple(path), value


def compared(left: Json, op: Operator, right: Json) -> bool:
    """Compare two values by rule 5, worked out here once more."""
    kinds = {*map(_kind, (left, right))}
    if kinds == {"text", "number"}:
        left, right = (_number(one) if isinstance(one, str) else one for one in (left, right))
        kinds = {"number"}
    elif kinds == {"text", "bool"}:
        left, right = (_bool(one) if isinstance(one, str) else one for one in (left, right))
        kinds = {"bool"}
    if kinds == {"number"} and not (isinstance(left, int) and isinstance(right, int)):
        left, right = _float(left), _float(right)
    if op in ("==", "!="):
        same = len(kinds) == 1 and _floats(left) == _floats(right)
        if kinds == {"number"}:
            same = left == right
        return same == (op == "==")
    if kinds not in ({"number"}, {"text"}):
        raise FailsError
    orders = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
    return bool(orders[op](left, right))


def can_be_compared(left: Json, right: Json) -> bool:
    """Return whether asking for their equality fails no step."""
    try:
        compared(left, "==", right)
    except FailsError:
        return False
    return True


def _kind(value: Json) -> str:
    if isinstance(value, bool):
        return "bool"
    kinds = {str: "text", int: "number", float: "number", list: "list", dict: "dict"}
    return kinds.get(type(value), "null")


def _number(text: str) -> Json:
    try:
        value = json.loads(text)
    except ValueError:
        raise FailsError from None
    if _kind(value) != "number":
        raise FailsError
    return value


def _float(value: Json) -> float:
    try:
        found = float(value)
    except OverflowError:
        raise FailsError from None
    if math.isinf(found):
        raise FailsError
    return found


def _bool(text: str) -> bool:
    found = {"true": True, "True": True, "false": False, "False": False}.get(text.strip())
    if found is None:
        raise FailsError
    return found


def _floats(value: Json) -> Json:
    """A value with its numbers as floats, and with booleans that equal no number."""
    if isinstance(value, list):
        return [_floats(one) for one in value]
    if isinstance(value, dict):
        return {key: _floats(one) for key, one in value.items()}
    return _float(value) if _kind(value) == "number" else (_kind(value), value)


def draw_ways(seed: int, count: int) -> Iterator[Way]:
    """Draw values and ways that they travel."""
    draw = random.Random(seed)
    for _ in range(count):
        yield draw.choice((_alone, _part, _joined, _instead, _gathered, _condition))(draw)


def _giver(value: Json, kind: ValueType, name: str = "a") -> Step:
    action = Script(image="python:3.12-slim", source="...", function=name)
    return Step(name=name, action=action, outputs=(Output(type=kind, path="outputs/r"),))


def _given(draw: random.Random, value: Json, name: str) -> tuple[Value, dict[str, t.Any], str]:
    """A value as a parameter or as an output, with what the workflow has for it."""
    kind = draw.choice((literal_type(value), "json"))
    text = dumped(value) if kind == "json" else written(value)
    if draw.random() < 0.5:
        parameter = Parameter(name=name, type=kind, default=value, required=value is None)
        return ParamRef(name=name), {"parameters": (parameter,)}, text
    return StepRef(step=name), {"steps": (_giver(value, kind, name),)}, text


def _flow(*parts: dict[str, t.Any]) -> Workflow:
    fields: dict[str, t.Any] = {"steps": (), "parameters": ()}
    for part in parts:
        for name, values in part.items():
            fields[name] += values
    fields["steps"] = fields["steps"] or (_giver(0, "int", "other"),)
    return Workflow(name="w", **fields)


def _alone(draw: random.Random) -> Way:
    value = draw_value(draw)
    read, part, text = _given(draw, value, "a")
    return Way("alone", _flow(part), read, written(value), {"a": text})


def _part(draw: random.Random) -> Way:
    value = {draw_text(draw): draw_value(draw), draw_text(draw): draw_value(draw)}
    path, found = draw_path(draw, value)
    read, part, text = _given(draw, value, "a")
    middle = draw.randint(0, len(path))
    if 0 < middle < len(path):
        read = Field(of=read, path=path[:middle])
    field = Field(of=read, path=path[middle:] if isinstance(read, Field) else path)
    return Way("part", _flow(part), field, written(found), {"a": text})


def _joined(draw: random.Random) -> Way:
    before, way, behind = draw_text(draw), draw.choice((_alone, _part))(draw), draw_text(draw)
    joined = Template(parts=(before, t.cast("Value", way.value), behind))
    return way._replace(
        name="joined", value=joined, expected=before + t.cast("str", way.expected) + behind
    )


def _instead(draw: random.Random) -> Way:
    way = draw.choice((_alone, _part))(draw)
    other = Literal(value=draw_scalar(draw))
    value = t.cast("Value", way.value)
    chosen: Value = OrElse(value=value, default=other)
    if draw.random() < 0.5:
        chosen = FirstOf(options=(value, other))
    return way._replace(name="instead", value=chosen)


def _gathered(draw: random.Random) -> Way:
    values = [draw_text(draw) for _ in range(draw.randint(0, 4))]
    if draw.random() < 0.5:
        values = [draw_value(draw) for _ in values]
    kind: ValueType = "str" if all(isinstance(one, str) for one in values) else "json"
    over = Foreach(over={"item": Literal(value=tuple(range(len(values))))})
    step = _giver(None, kind).model_copy(update={"foreach": over})
    kept = dumped([dumped(dumped(one)) for one in values])
    return Way(
        "gathered", _flow({"steps": (step,)}), StepRef(step="a"), dumped(values), {"a": kept}
    )


def _condition(draw: random.Random) -> Way:
    left = draw_value(draw, 1)
    relatives = [left, draw_value(draw, 1), written(left), None]
    if isinstance(left, int | float) and not isinstance(left, bool):
        relatives += [left + 1, int(left), str(left), -left]
    right = draw.choice(relatives)
    op = draw.choice(OPERATORS)
    one, part, text = _given(draw, left, "a")
    texts = {"a": text}
    parts = [part]
    other: Value = Literal(value=right)
    if draw.random() < 0.5:
        other, part, texts["b"] = _given(draw, right, "b")
        parts.append(part)
    if draw.random() < 0.3:
        one, texts["a"] = Field(of=StepRef(step="a"), path=("k",)), dumped({"k": left})
        parts[0] = {"steps": (_giver(None, "dict"),)}
    try:
        expected: bool | None = compared(left, op, right)
    except FailsError:
        expected = None
    return Way("condition", _flow(*parts), Compare(left=one, op=op, right=other), expected, texts)
