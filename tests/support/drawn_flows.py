"""Workflows in which drawn values travel in all ways that a program has."""

from __future__ import annotations

import random
import typing as t

import couler
from couler.ir.defaults import resolve_defaults
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from tests.support.drawn_values import (
    Json,
    can_be_compared,
    draw_path,
    draw_scalar,
    draw_value,
    written,
)
from tests.support.value_cases import Value, echo

ARGO_TAGS = ("{{item", "{{=")
"""Tags with a meaning to Argo, which the default of a parameter cannot have there."""


@couler.step
def give(x: t.Any) -> t.Any:
    return x


@couler.step
def give_text(x: str) -> str:
    return x


@couler.step
def give_list(x: list[t.Any]) -> list[t.Any]:
    return x


@couler.step
def give_dict(x: dict[str, t.Any]) -> dict[str, t.Any]:
    return x


@couler.step
def paired(one: str, outer: str) -> str:
    return one + "|" + outer


def drawn_flow(seed: int, count: int) -> Workflow:
    """Return a workflow of some values; its outputs are their texts and the branches taken."""
    draw = random.Random(seed)
    values = [draw_value(draw) for _ in range(count)]
    defaults = {f"p{index}": one for index, one in enumerate(values) if can_be_default(one)}
    with couler.Workflow("drawn", params=defaults) as wf:
        for index, value in enumerate(values):
            read, found = _read(draw, wf, index, value)
            wf.output(f"text_{index}", couler.text("<{}>", read))
            wf.output(f"through_{index}", give_text(couler.text("{}", read)))
            others = [found, written(found), draw_scalar(draw)]
            other = draw.choice([one for one in others if can_be_compared(found, one)])
            with couler.when(read == other):
                taken = echo("yes", step_name=f"equal-{index}")
            wf.output(f"equal_{index}", taken.or_else("no"))
            items = [value, found, "{{item}} {{=1}}"]
            mapped = paired.partial(outer=couler.text("{}", read)).map(one=_texts(draw, items))
            wf.output(f"items_{index}", mapped)
            wf.output(f"gathered_{index}", give_text(couler.text("{}", mapped)))
            first = give_text(couler.text("{}", read))
            with couler.loop(max_iterations=2) as rounds:
                carried = rounds.carry(first, name="x")
                again = give_text(carried)
                rounds.next(carried, again)
                rounds.until(again == written(found))
            wf.output(f"carried_{index}", again)
    workflow = resolve_defaults(wf.to_ir())
    problems = [one for one in (*wf.diagnostics, *verify(workflow)) if one.severity == "error"]
    assert not problems, problems
    return workflow


def _read(draw: random.Random, wf: couler.Workflow, index: int, value: Json) -> tuple[Value, Json]:
    """A value as a parameter, an output or a part of one, and what it comes to."""
    makers: list[t.Callable[[], Value]] = [lambda: give(value)]
    if can_be_default(value):
        makers.append(lambda: wf.params[f"p{index}"])
    if isinstance(value, str):
        makers.append(lambda: give_text(value))
    elif isinstance(value, list):
        makers.append(lambda: give_list(value))
    elif isinstance(value, dict):
        makers.append(lambda: give_dict(value))
    read: Value = draw.choice(makers)()
    path, found = draw_path(draw, value)
    if draw.random() < 0.7:
        for key in path:
            read = read[key]
        return read, found
    return read, value


def _texts(draw: random.Random, items: list[Json]) -> Value:
    """A list of texts: literals, or what a step gives."""
    texts = [written(one) for one in items]
    return texts if draw.random() < 0.5 else give_list(texts)


def can_be_default(value: Json) -> bool:
    """Return whether a value can be the default of a parameter on every engine."""
    text = written(value)
    is_closed = text.rfind("{{") <= text.rfind("}}")
    return value is not None and is_closed and not any(tag in text for tag in ARGO_TAGS)
