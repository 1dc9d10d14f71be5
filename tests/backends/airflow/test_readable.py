"""DAG files say what a reviewer has to know, and no more."""

from __future__ import annotations

import pytest

from couler.backends.airflow.dag import dag_file
from couler.backends.airflow.options import options
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.ir.values import Compare, Literal, ParamRef, StepRef, Text, Value, ValueType
from couler.ir.workflow import Container, Output, Parameter, Step, Workflow


def own_part(*steps: Step, **parameters: object) -> str:
    """Return what of a DAG file is of its workflow."""
    given = tuple(
        Parameter(name=name, type=_type(value), default=value) for name, value in parameters.items()
    )
    workflow = Workflow(name="sample", parameters=given, steps=steps)
    text = dag_file(resolve_defaults(workflow), options(Target()))
    return text.partition("# Above: ")[2] or text


def _type(value: object) -> ValueType:
    types: dict[type, ValueType] = {str: "str", int: "int", float: "float", bool: "bool"}
    return types[type(value)]


def echo(name: str, *words: Text, **fields: object) -> Step:
    action = Container(image="a", command=("echo", *words))
    return Step.model_validate({"name": name, "action": action, **fields})


@pytest.mark.parametrize(
    ("left", "op", "right", "code"),
    [
        (ParamRef(name="n"), ">=", 3, 'int(params["n"]) >= 3'),
        (ParamRef(name="x"), "<", 0.5, 'float(params["x"]) < 0.5'),
        (ParamRef(name="s"), "!=", "a", 'params["s"] != "a"'),
        (ParamRef(name="b"), "==", True, 'params["b"] in (True, "true")'),
        (ParamRef(name="b"), "!=", True, 'params["b"] in (False, "false")'),
        (ParamRef(name="s"), "<", "a", 'compare(params["s"], "<", "a")'),
        (ParamRef(name="s"), "==", 1, 'compare(params["s"], "==", 1)'),
        (
            StepRef(step="first", output="n"),
            ">",
            1,
            'decode(ti.xcom_pull("first")["n"], "int") > 1',
        ),
    ],
)
def test_conditions(left: Value, op: str, right: object, code: str) -> None:
    """Signs of Python stand where they mean the same: `test_reading` tells whether they do."""
    condition = Compare.model_validate({"left": left, "op": op, "right": Literal(value=right)})
    first = echo("first", outputs=(Output(name="n", type="int", path="n"),))
    text = own_part(first, echo("then", when=condition), n=1, x=1.5, s="s", b=True)
    assert f"    return {code}\n" in text
