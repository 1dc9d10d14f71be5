"""Manifests for which Argo alone would not end a run, or would run what there is none of."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.output_checks import CHECK_TASK
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.values import ValueType
from couler.ir.workflow import Workflow
from tests.corpus.build import (
    compare,
    first_of,
    flow,
    group,
    item,
    last,
    on_completion,
    or_else,
    out,
    part,
    ref,
    rng,
    sh,
    text,
    while_,
)


def templates(workflow: Workflow) -> dict[str, t.Any]:
    compiled = ArgoBackend().compile(resolve_defaults(workflow), Target(), format="json")
    spec = json.loads(compiled.to_text())["spec"]
    return {template["name"]: template for template in spec["templates"]}


def tasks(template: t.Any) -> dict[str, t.Any]:
    return {task["name"]: task for task in template["dag"]["tasks"]}


def of(source: object, kind: ValueType = "str", default: object = None) -> dict[str, t.Any]:
    """The tasks of a group that gives out a value."""
    inside = (
        sh("text", "true"),
        sh("json", "true", result="json"),
        sh("number", "true", result="int"),
        sh("each", "true", item(), foreach=["a"]),
    )
    outputs = [out("o", kind, source=source, default=default)]
    return tasks(templates(flow("of", group("of", *inside, outputs=outputs)))["of"])


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        (part(ref("text"), "k"), "json"),
        (ref("json"), "str"),
        (or_else(ref("json"), "x"), "str"),
        (or_else(part(ref("json"), 0), 1), "json"),
        (first_of(ref("text"), part(ref("json"), 0)), "str"),
        (text("<", part(ref("json"), 0), ">"), "str"),
        (text("<", ref("json"), ">"), "str"),
        (rng(count=ref("number")), "list"),
    ],
)
def test_outputs_that_may_be_impossible_are_evaluated_before_the_end(
    source: object, kind: ValueType
) -> None:
    check = of(source, kind)[CHECK_TASK]
    assert check["depends"] == "text && json && number && each"
    assert check["when"].startswith("{{=len((")
    assert check["when"].endswith(")) < 0}}")


def test_an_output_with_a_default_is_read_by_an_expression() -> None:
    of = group(
        "of", sh("in", "true", result="int"), outputs=[out("n", "int", source=ref("in"), default=4)]
    )
    reader = sh("reader", "true", ref("of", "n"), depends_on=[on_completion("of")])
    task = tasks(templates(flow("default", of, reader))["main"])["reader"]
    [argument] = task["arguments"]["parameters"]
    assert argument["value"] == "{{=(tasks.of.outputs?.parameters?.n ?? '4')}}"


def test_a_group_made_for_a_loop_keeps_the_default() -> None:
    loop = while_(compare(last("n"), "<", 3))
    of = sh("of", "true", result=None, outputs=[out("n", "int", path="n", default=4)], loop=loop)
    reader = sh("reader", "true", or_else(ref("of", "n"), 5), depends_on=[on_completion("of")])
    task = tasks(templates(flow("default", of, reader))["main"])["reader"]
    [argument] = task["arguments"]["parameters"]
    assert "?? '4'" in argument["value"]
