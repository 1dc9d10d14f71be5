"""Trees, mermaid, dot and JSON; values and conditions as text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from couler.errors import EngineOptionError
from couler.ir.values import (
    And,
    Compare,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    Not,
    Or,
    OrElse,
    ParamRef,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.workflow import Container, Workflow
from couler.show import FORMATS, render
from couler.show.text import condition_text, value_text
from tests.show.conftest import step
from tests.support.strategies import workflows

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "show"


@pytest.mark.golden
@pytest.mark.parametrize("kind", ["tree", "mermaid", "dot", "json", "svg"])
@pytest.mark.parametrize("which", ["selection", "everything"])
def test_picture(request: pytest.FixtureRequest, golden: Callable, which: str, kind: str) -> None:
    workflow = request.getfixturevalue(which)
    suffix = {"tree": "txt", "mermaid": "mmd"}.get(kind, kind)
    golden(GOLDEN / f"{which}.{suffix}", render(workflow, kind) + "\n")


@settings(max_examples=8)
@given(workflows(), st.sampled_from(FORMATS))
def test_any_workflow_is_drawn(workflow: Workflow, kind: str) -> None:
    text = render(workflow, kind)
    assert text
    assert text == render(workflow, kind)


def test_unknown_picture_names_the_nearest() -> None:
    with pytest.raises(EngineOptionError, match=r'no picture "svgg".*Did you mean "svg"'):
        render(Workflow(name="w"), "svgg")


HOSTILE = 'a"b\\c\n<d>&{e}|[f](g);#h%%'


@pytest.fixture
def hostile() -> Workflow:
    return Workflow(
        name=HOSTILE, steps=(step("end", action=Container(image=HOSTILE)), step("graph", "end"))
    )


def test_tree_keeps_to_one_line_a_step(hostile: Workflow) -> None:
    assert len(render(hostile.model_copy(update={"name": "w"}), "tree").splitlines()) == 3


def test_mermaid_reads_no_text_of_the_user(hostile: Workflow) -> None:
    lines = render(hostile, "mermaid").splitlines()
    assert json.loads(lines[1].removeprefix("title: ")) == HOSTILE
    body = "\n".join(lines[3:])
    for string in re.findall(r'"([^"]*)"', body):
        plain = re.sub(r"#\d+;|<br/>", "", string)
        assert not set(plain) & set('"\\<>&{}|[];#`*~'), plain
    outside = re.sub(r'"[^"]*"', '""', body)
    assert set(outside.split()) == {"flowchart", "TD", 's0[""]', 's1[""]', "s0", "-->", "s1"}


def test_dot_quotes_all_text(hostile: Workflow) -> None:
    text = render(hostile, "dot")
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', '""', text)
    assert not set("<>&|#%") & set(outside.replace("->", ""))
    assert outside.count("{") == outside.count("}") == 1


A = StepRef(step="a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", '"plain"'),
        (Literal(value=(1, "x", None)), '[1,"x",null]'),
        (ParamRef(name="n"), "params.n"),
        (A, "a.result"),
        (ItemRef(), "item"),
        (ItemRef(name="model"), "item.model"),
        (RoundRef(output="loss"), "round.loss"),
        (RunRef(field="id"), "run.id"),
        (Field(of=A, path=("x y", 0, "z")), 'a.result["x y"][0].z'),
        (Field(of=OrElse(value=A, default=A), path=(0,)), "(a.result or else a.result)[0]"),
        (FirstOf(options=(A, Literal(value=1))), "first of (a.result, 1)"),
        (Template(parts=('say "', A, '"')), '"say \\"{a.result}\\""'),
    ],
)
def test_value(value: Value | str, text: str) -> None:
    assert value_text(value) == text


ONE = Compare(left=A, op="==", right=Literal(value=1))
BOTH = And(items=(ONE, ONE))


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (ONE, "a.result == 1"),
        (And(items=(ONE, Not(item=ONE))), "a.result == 1 and not (a.result == 1)"),
        (Or(items=(BOTH, ONE)), "(a.result == 1 and a.result == 1) or a.result == 1"),
        (Not(item=Not(item=ONE)), "not not (a.result == 1)"),
        (And(items=()), "true"),
        (Or(items=()), "false"),
        (
            Compare(left=OrElse(value=A, default=Literal(value=0)), op="<", right=A),
            "(a.result or else 0) < a.result",
        ),
    ],
)
def test_condition(condition: And | Or | Not | Compare, text: str) -> None:
    assert condition_text(condition) == text
