"""Steps and workflows as small as they can be, which samples and tests are made of."""

from __future__ import annotations

import typing as t

from couler.ir.policies import Foreach, Loop
from couler.ir.values import Compare, ItemRef, Literal, Operator, OwnRef, RoundRef, StepRef, Value
from couler.ir.workflow import Action, Container, Group, Output, Step, Workflow

A = StepRef(step="a")
ITEM = ItemRef()
ROUND = RoundRef()
LIST = Literal(value=(1, 2))
OVER_LIST = Foreach(over={"item": LIST})
OVER_A = Foreach(over={"item": A})
IS_X = Compare(left=A, op="==", right=Literal(value="x"))
AGAIN = Loop(condition=Compare(left=ROUND, op="!=", right=Literal(value="done")))
MODEL_FILE = Output(name="model", type="file", path="/tmp/model")


def echo(name: str, *values: Value, **fields: t.Any) -> Step:
    """A container that prints values."""
    action = Container(image="alpine:3", command=("echo",), args=values)
    return Step(name=name, action=action, **fields)


def group(name: str, *steps: Step, **fields: t.Any) -> Step:
    """A group; its output `result` is that of its first step."""
    if "outputs" not in fields:
        fields["outputs"] = (Output(value=StepRef(step=steps[0].name)),)
    return Step(name=name, action=Group(steps=steps), **fields)


def flow(*steps: Step, **fields: t.Any) -> Workflow:
    """A workflow of these steps."""
    return Workflow(name="sample", steps=steps, **fields)


def one_step(**fields: t.Any) -> Workflow:
    """A workflow of one container."""
    return flow(echo("a", **fields))


def one_action(action: Action, **fields: t.Any) -> Workflow:
    """A workflow of one step that does something."""
    return flow(Step(name="a", action=action, **fields))


def own_fact(
    op: Operator, value: object, fact: t.Any = "status", name: str | None = None
) -> Compare:
    """A condition on what a step knows of itself."""
    return Compare(left=OwnRef(fact=fact, name=name), op=op, right=Literal(value=value))
