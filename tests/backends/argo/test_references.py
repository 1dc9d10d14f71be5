"""Values and conditions as tags and expressions, by hand-worked cases."""

from __future__ import annotations

import pytest

from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView
from couler.ir.policies import Foreach
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Literal,
    Not,
    StepRef,
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
    ("condition", "expression"),
    [
        (
            Compare(left=StepRef(step="flip-coin"), op="==", right=Literal(value="it's")),
            "tasks['flip-coin'].outputs.result == 'it\\'s'",
        ),
        (
            Compare(left=StepRef(step="train", output="score"), op=">", right=Literal(value=0.95)),
            "fromJSON(tasks.train.outputs.parameters.score) > 0.95",
        ),
        (
            Compare(left=StepRef(step="flip-coin"), op=">", right=Literal(value=3)),
            "fromJSON(tasks['flip-coin'].outputs.result) > 3",
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
            (
                "fromJSON(trim(tasks.count.outputs.result, ' \\t\\r\\n') + '.0') < 3 && "
                "(!(tasks['flip-coin'].outputs.result == 'x'))"
            ),
        ),
    ],
)
def test_conditions(renderer: Renderer, condition: Condition, expression: str) -> None:
    assert renderer.condition(condition) == expression
