"""Drawn values as expressions of Argo, evaluated as its controller does."""

from __future__ import annotations

import collections
import json
import subprocess
import typing as t

import pytest

from couler.backends.argo.json_text import part
from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView
from couler.ir.values import Compare
from tests.oracle.argo.build import programs
from tests.support import argo_oracle
from tests.support.drawn_values import Way, draw_ways

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(
        argo_oracle.lint_available() is not None, reason=str(argo_oracle.lint_available())
    ),
]
COUNT = 5000


def test_drawn_values() -> None:
    ways = list(draw_ways(7, COUNT))
    found = evaluate([(expression(way), variables(way)) for way in ways])
    differ = [
        (way.name, way.value, way.texts, way.expected, one)
        for way, one in zip(ways, found, strict=True)
        if one.get("value") != way.expected
    ]
    assert not differ, (collections.Counter(name for name, *_ in differ), differ[:5])


def test_index_from_the_end_is_no_part() -> None:
    first, last = evaluate([(part("x", [at]), {"x": "[1,2]"}) for at in (0, -1)])
    assert (first["value"], last["value"]) == ("1", None)


def expression(way: Way) -> str:
    view = ScopeView.of_workflow(way.workflow)
    renderer = Renderer(view, {step.name: step.name for step in way.workflow.steps}, "")
    if isinstance(way.value, Compare):
        return renderer.condition(way.value)
    return renderer.expression_as(way.value, None, "str")


def variables(way: Way) -> dict[str, str]:
    steps = {step.name for step in way.workflow.steps}
    known = {f"tasks.{name}.status": "Succeeded" for name in steps}
    for name, text in way.texts.items():
        path = f"tasks.{name}.outputs.parameters.result"
        known[path if name in steps else f"workflow.parameters.{name}"] = text
    return known


def evaluate(asked: list[tuple[str, dict[str, str]]]) -> list[dict[str, t.Any]]:
    lines = [json.dumps({"expression": one, "variables": known}) for one, known in asked]
    done = subprocess.run(
        [str(programs() / "evaluate")],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
