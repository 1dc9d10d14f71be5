"""Values and conditions as a reader would write them: `best.score > 0.95`."""

from __future__ import annotations

import re
import typing as t

from couler.ir.semantics.wire import dump_json
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    Not,
    Or,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def value_text(value: Text) -> str:
    """Return a value as text for people."""
    if isinstance(value, str):
        return dump_json(value)
    match value:
        case Literal():
            return dump_json(value.value)
        case ParamRef():
            return f"params.{value.name}"
        case StepRef():
            return f"{value.step}.{value.output}"
        case ItemRef():
            return "item" if value.name == "item" else f"item.{value.name}"
        case RoundRef():
            return f"round.{value.output}"
        case RunRef():
            return f"run.{value.field}"
        case OwnRef():
            return "own." + ".".join(filter(None, (value.fact, value.name)))
        case Field():
            return _closed(value.of) + "".join(map(_key_text, value.path))
        case OrElse():
            return f"{_closed(value.value)} or else {_closed(value.default)}"
        case FirstOf():
            return f"first of ({', '.join(map(value_text, value.options))})"
        case Range():
            return _range_text(value)
        case Template():
            return _template_text(value)
    t.assert_never(value)


def _range_text(value: Range) -> str:
    start = value_text(value.start)
    if value.end is not None:
        told = f"{start} to {value_text(value.end)}"
    else:
        told = f"{value_text(value.count or Literal(value=0))} from {start}"
    return told if value.format is None else f"{told} as {dump_json(value.format)}"


def condition_text(condition: Condition) -> str:
    """Return a condition as text for people."""
    match condition:
        case Compare():
            return f"{_closed(condition.left)} {condition.op} {_closed(condition.right)}"
        case And():
            return " and ".join(map(_closed_condition, condition.items)) or "true"
        case Or():
            return " or ".join(map(_closed_condition, condition.items)) or "false"
        case Not():
            return f"not {_closed_condition(condition.item, always=True)}"
    t.assert_never(condition)


def one_line(text: str) -> str:
    """Return the text with every run of blanks and ends of lines as one blank."""
    return " ".join(text.split())


def shorten(text: str, width: int) -> str:
    """Return the text on one line, cut to a number of characters with an ellipsis at its end."""
    line = one_line(text)
    return line if len(line) <= width else line[: width - 1] + "…"


def _closed(value: Value) -> str:
    text = value_text(value)
    return f"({text})" if isinstance(value, OrElse) else text


def _closed_condition(condition: Condition, always: bool = False) -> str:
    text = condition_text(condition)
    plain = isinstance(condition, Not) or (isinstance(condition, Compare) and not always)
    return text if plain else f"({text})"


def _key_text(key: str | int) -> str:
    if isinstance(key, str) and _NAME.fullmatch(key):
        return f".{key}"
    return f"[{dump_json(key)}]"


def _template_text(template: Template) -> str:
    parts = (
        dump_json(part)[1:-1] if isinstance(part, str) else f"{{{value_text(part)}}}"
        for part in template.parts
    )
    return f'"{"".join(parts)}"'
