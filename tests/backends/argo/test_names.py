"""Names of users never meet the names that the backend makes, nor each other, in a manifest."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.metrics import Counter, MetricLabel
from couler.ir.policies import Cache
from couler.ir.storage import EnvVar
from couler.ir.values import Literal, ParamRef
from couler.ir.workflow import (
    Container,
    Input,
    Output,
    Parameter,
    Step,
    Workflow,
)
from tests.support.verification import codes

TRUE = Container(image="alpine:3", command=("true",))
NAMED = ("arg_0", "word_0", "env_A", "header_0", "url", "body", "cache_salt", "metric_n", "input_x")


def templates(workflow: Workflow) -> dict[str, t.Any]:
    assert [one for one in codes(workflow) if one != "CLR430"] == []
    assert list(ArgoBackend().check(workflow, Target())) == []
    text = ArgoBackend().compile(workflow, Target(), format="json").to_text()
    return {one["name"]: one for one in json.loads(text)["spec"]["templates"]}


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("shared", [False, True])
def test_an_input_has_any_name(name: str, shared: bool) -> None:
    """Where steps share a template, its parameters have names for texts of all kinds."""
    steps = tuple(
        Step(
            name=f"s{number}",
            action=Container(
                image="alpine:3", command=("echo", ParamRef(name="p")), args=(f"arg {number}",)
            ),
            inputs=(Input(name=name, value=Literal(value=f"input {number}")),),
            env=(EnvVar(name="A", value=f"env {number}"),),
            cache=Cache(salt=f"salt {number}"),
            metrics=(
                Counter(
                    name="n",
                    help="h",
                    value=ParamRef(name="p"),
                    labels=(MetricLabel(name="l", value="x"),),
                ),
            ),
            source=None,
        )
        for number in range(1 + 101 * shared)
    )
    found = templates(
        Workflow(name="w", steps=steps, parameters=(Parameter(name="p", type="int", default=1),))
    )
    given = {
        task["name"]: {one["name"]: one["value"] for one in task["arguments"]["parameters"]}
        for task in found["main"]["dag"]["tasks"]
    }
    container = (found["s"] if shared else found["s0"])["container"]
    variables = {one["name"]: one["value"] for one in container["env"]}

    def filled(text: str) -> str:
        for parameter, value in given["s0"].items():
            text = text.replace("{{inputs.parameters." + parameter + "}}", value)
        return text

    assert filled(variables[f"COULER_INPUT_{name}"]) == "input 0"
    assert filled(variables["A"]) == "env 0"
    assert [filled(text) for text in container["args"]] == ["arg 0"]


@pytest.mark.parametrize("name", ["couler_at", "couler_kept_x"])
def test_names_of_the_project_itself_are_kept(name: str) -> None:
    for fields in (
        {"inputs": (Input(name=name, value=Literal(value="x")),)},
        {"outputs": (Output(name=name, path="x"),)},
    ):
        step = Step(name="a", action=TRUE, **fields)
        assert codes(Workflow(name="w", steps=(step,))) == ["CLR153"]
