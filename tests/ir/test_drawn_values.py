"""Drawn values come to the text, and conditions on them to the truth, that the rules ask for."""

from __future__ import annotations

import json

from couler.errors import CoulerError
from couler.ir.semantics.values import (
    Gathered,
    RunFacts,
    Single,
    Stored,
    View,
    holds,
    resolve_text,
)
from couler.ir.values import Compare
from tests.support.drawn_values import Way, draw_ways

COUNT = 5000


def test_drawn_values() -> None:
    differ = [
        (way.name, way.value, way.texts, way.expected, found)
        for way in draw_ways(7, COUNT)
        if (found := outcome(way)) != way.expected
    ]
    assert not differ, (len(differ), differ[:5])


def outcome(way: Way) -> str | bool | None:
    view = View(
        run=RunFacts(id="w-1", logical_date="2026-01-01T00:00:00Z"),
        parameters={one.name: Single(way.texts[one.name], one.type) for one in way.parameters},
        steps={name: {"result": stored(way, name)} for name in way.steps},
    )
    try:
        if isinstance(way.value, Compare):
            return holds(way.value, view)
        return resolve_text(way.value, view)
    except CoulerError:
        return None


def stored(way: Way, name: str) -> Stored:
    step = way.steps[name]
    [output] = step.outputs
    text = way.texts.get(name, "0")
    if step.foreach is None:
        return Single(text, output.type)
    texts = [json.loads(one) for one in json.loads(text)]
    kind = output.type
    return Gathered(tuple(Single(json.loads(one) if kind == "str" else one, kind) for one in texts))
