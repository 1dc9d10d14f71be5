"""Values and conditions as tags and expressions, by hand-worked cases."""

from __future__ import annotations

import pytest

from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView
from couler.ir.conditions import And, Compare, Condition, Not
from couler.ir.policies import Foreach
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    ParamRef,
    RunRef,
    StepRef,
    Template,
    Value,
)
from couler.ir.workflow import Container, Output, Parameter, Script, Step, Workflow

RUN = Container(image="busybox", command=("true",))
PRODUCERS = (
    Step(name="flip-coin", action=RUN),
    Step(name="count", action=RUN, outputs=(Output(type="int"),)),
    Step(
        name="train",
        action=Script(image="python:3.12-slim", source="..."),
        outputs=(
            Output(name="score", type="float", path="outputs/score"),
            Output(name="info", type="json", path="outputs/info"),
            Output(name="model", type="file", path="outputs/model"),
        ),
    ),
    Step(
        name="fits",
        action=RUN,
        foreach=Foreach(over={"item": Literal(value=[1, 2])}),
        outputs=(Output(name="loss", type="float", path="outputs/loss"),),
    ),
)


@pytest.fixture
def renderer() -> Renderer:
    workflow = Workflow(
        name="w", steps=PRODUCERS, parameters=(Parameter(name="lr", type="float", default=0.1),)
    )
    names = {step.name: step.name for step in PRODUCERS}
    return Renderer(ScopeView.of_workflow(workflow), names, "{{workflow.name}}")


@pytest.mark.parametrize(
    ("value", "want", "text"),
    [
        (Literal(value=0.5), "float", "0.5"),
        (Literal(value="a"), "json", '"a"'),
        (Literal(value={"a": "{{x"}), "dict", '{"a":"{\\u007bx"}'),
        (ParamRef(name="lr"), "float", "{{workflow.parameters.lr}}"),
        (StepRef(step="flip-coin"), "str", "{{=tasks['flip-coin'].outputs.result}}"),
        (StepRef(step="count"), "str", "{{tasks.count.outputs.result}}"),
        (StepRef(step="flip-coin"), "json", "{{=toJson(tasks['flip-coin'].outputs.result)}}"),
        (
            StepRef(step="train", output="score"),
            "float",
            "{{tasks.train.outputs.parameters.score}}",
        ),
        (
            StepRef(step="train", output="info"),
            "str",
            (
                "{{=map([fromJSON(tasks.train.outputs.parameters.info)], "
                "type(#) == 'string' ? # : toJson(#))[0]}}"
            ),
        ),
        (StepRef(step="train", output="model"), "file", "{{workflow.name}}/train/model"),
        (
            StepRef(step="fits", output="loss"),
            "list",
            (
                "{{='[' + join(map(fromJSON(tasks.fits.outputs?.parameters?.loss ?? '[]'), "
                "fromJSON(#)), ',') + ']'}}"
            ),
        ),
        (
            Field(of=StepRef(step="train", output="info"), path=("a b", 0)),
            "json",
            "{{=toJson(jsonpath(tasks.train.outputs.parameters.info, '$[\\'a b\\'][0]'))}}",
        ),
        (
            OrElse(value=StepRef(step="train", output="score"), default=Literal(value=0.0)),
            "float",
            "{{=(tasks.train.outputs?.parameters?.score ?? '0.0')}}",
        ),
        (
            FirstOf(options=(StepRef(step="flip-coin"), StepRef(step="count"))),
            "str",
            (
                "{{=((tasks['flip-coin'].outputs == nil ? nil : tasks['flip-coin'].outputs.result) "
                "?? ((tasks.count.outputs == nil ? nil : tasks.count.outputs.result) ?? ''))}}"
            ),
        ),
        (
            Template(parts=("lr=", ParamRef(name="lr"), ";")),
            "str",
            "lr={{workflow.parameters.lr}};",
        ),
        (
            Template(parts=("{", ParamRef(name="lr"), "}")),
            "str",
            "{{=('{' + workflow.parameters.lr + '}')}}",
        ),
        (RunRef(field="id"), "str", "{{workflow.name}}"),
    ],
)
def test_values(renderer: Renderer, value: Value, want: str, text: str) -> None:
    assert renderer.text(value, None, want) == text  # type: ignore[arg-type]  # any of the types


def test_an_item_is_known_by_its_name_if_there_are_several_lists(renderer: Renderer) -> None:
    letters = Literal(value=["a"])
    one = Step(name="s", action=RUN, foreach=Foreach(over={"x": letters}))
    assert renderer.text(ItemRef(name="x"), one) == "{{=item}}"
    two = Step(name="s", action=RUN, foreach=Foreach(over={"x": letters, "y": letters}))
    assert renderer.text(ItemRef(name="x"), two) == "{{=fromJSON(item).x}}"


@pytest.mark.parametrize(
    ("condition", "expression"),
    [
        (
            Compare(left=StepRef(step="flip-coin"), op="==", right=Literal(value="it's")),
            "tasks['flip-coin'].outputs.result == 'it\\'s'",
        ),
        (
            Compare(left=StepRef(step="train", output="score"), op=">", right=Literal(value=0.95)),
            "float(tasks.train.outputs.parameters.score) > 0.95",
        ),
        (
            Compare(left=StepRef(step="flip-coin"), op=">", right=Literal(value=3)),
            "float(trim(tasks['flip-coin'].outputs.result)) > 3",
        ),
        (
            And(
                items=(
                    Compare(left=StepRef(step="count"), op="<", right=Literal(value=3)),
                    Not(
                        item=Compare(
                            left=StepRef(step="flip-coin"), op="==", right=Literal(value="x")
                        )
                    ),
                )
            ),
            "int(tasks.count.outputs.result) < 3 && (!(tasks['flip-coin'].outputs.result == 'x'))",
        ),
    ],
)
def test_conditions(renderer: Renderer, condition: Condition, expression: str) -> None:
    assert renderer.condition(condition) == expression
