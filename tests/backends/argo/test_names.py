"""Names of users never meet the names that the backend makes, nor each other, in a manifest."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.argo.names import input_place
from couler.backends.base import Target
from couler.ir.actions import Plugin
from couler.ir.conditions import Compare
from couler.ir.metrics import Counter, MetricLabel
from couler.ir.policies import Cache
from couler.ir.storage import EnvVar
from couler.ir.values import Literal, OrElse, OwnRef, ParamRef, StepRef
from couler.ir.workflow import (
    Action,
    Container,
    ExitHandler,
    Group,
    Hook,
    Http,
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


def test_templates_are_named_in_lower_case() -> None:
    """Argo names pods after templates, and the API server takes no capital in a pod's name."""
    inner = (Step(name="Fit", action=TRUE),)
    workflow = Workflow(
        name="w",
        steps=(
            Step(name="Train", action=TRUE),
            Step(name="train", action=TRUE, depends_on=("Train",)),
            Step(name="Folds", action=Group(steps=inner)),
        ),
        exit_handlers=(ExitHandler(name="Tell", on="any", steps=inner),),
    )
    made = templates(workflow)
    assert [name for name in made if name != name.lower()] == []
    assert [task["name"] for task in made["main"]["dag"]["tasks"]] == ["Train", "train", "Folds"]


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


@pytest.mark.parametrize(
    ("action", "read"),
    [
        (Http(url="https://x.org", body="text"), ("http", "body")),
        (Http(url="text"), ("http", "url")),
    ],
)
def test_an_input_of_a_request_has_any_name(action: Action, read: tuple[str, str]) -> None:
    step = Step(
        name="a", action=action, inputs=(Input(name=read[1], value=Literal(value="other")),)
    )
    text = ArgoBackend().compile(Workflow(name="w", steps=(step,)), Target(), format="json")
    [template] = [one for one in json.loads(text.to_text())["spec"]["templates"] if "http" in one]
    assert template["http"][read[1]] == "text"


def test_a_plugin_finds_its_inputs_by_their_names() -> None:
    step = Step(
        name="a",
        action=Plugin(name="p", body={"x": "y"}),
        inputs=(Input(name="url", value=Literal(value="x")),),
    )
    assert templates(Workflow(name="w", steps=(step,)))["a"]["inputs"]["parameters"] == [
        {"name": "url", "value": "x"}
    ]


def test_places_of_inputs_are_apart() -> None:
    names = [*NAMED, "x", "input_url", "input_input_x", "arg", "arg_x", "couler_key_m"]
    assert len({input_place(name) for name in names}) == len(names)
    assert input_place("text") == "text"


@pytest.mark.parametrize("name", ["couler_at", "couler_kept_x"])
def test_names_of_the_project_itself_are_kept(name: str) -> None:
    for fields in (
        {"inputs": (Input(name=name, value=Literal(value="x")),)},
        {"outputs": (Output(name=name, path="x"),)},
    ):
        step = Step(name="a", action=TRUE, **fields)
        assert codes(Workflow(name="w", steps=(step,))) == ["CLR153"]


def test_steps_that_differ_in_dashes_alone_are_tasks_of_their_own() -> None:
    steps = [Step(name=name, action=TRUE) for name in ("a", "a-", "b__c", "b-c", "s-2")]
    read = Step(name="last", action=TRUE, depends_on=("a-", "b__c"))
    found = templates(Workflow(name="w", steps=(*steps, read)))
    tasks = found["main"]["dag"]["tasks"]
    assert [task["name"] for task in tasks] == ["a", "a-2", "b-c", "b-c-2", "s-2", "last"]
    assert tasks[-1]["depends"] == "a-2 && b-c"


def _handler(name: str, *values: StepRef) -> ExitHandler:
    args = tuple(OrElse(value=value, default=Literal(value="")) for value in values)
    action = Container(image="alpine:3", command=("echo",), args=args)
    return ExitHandler(name=name, on="any", steps=(Step(name="p", action=action),))


def test_exit_handlers_that_differ_in_dashes_alone_are_tasks_of_their_own() -> None:
    steps = (Step(name="a", action=TRUE),)
    handlers = (_handler("tell-me"), _handler("tell_me"))
    found = templates(Workflow(name="w", steps=steps, exit_handlers=handlers))
    tasks = found["on-exit"]["dag"]["tasks"]
    assert [task["name"] for task in tasks] == ["tell-me", "tell-me-2"]


def test_outputs_that_exit_handlers_read_have_names_of_their_own() -> None:
    outputs = (Output(name="c", path="c"), Output(name="b_c", path="b"))
    steps = tuple(Step(name=name, action=TRUE, outputs=outputs) for name in ("a", "a_b"))
    handler = _handler("tell", StepRef(step="a", output="b_c"), StepRef(step="a_b", output="c"))
    found = templates(Workflow(name="w", steps=steps, exit_handlers=(handler,)))
    kept = [
        output["globalName"]
        for one in found.values()
        for output in one.get("outputs", {}).get("parameters", ())
        if "globalName" in output
    ]
    assert kept == ["a-b_c", "a_b-c"]
    [task] = found["tell"]["dag"]["tasks"]
    read = [one["value"] for one in task["arguments"]["parameters"]]
    assert read[0] != read[1]


def test_hooks_named_as_that_of_the_end_are_apart() -> None:
    failed = Compare(left=OwnRef(fact="status"), op="==", right=Literal(value="failed"))
    names = ("exit", "exit-hook")
    hooks = tuple(Hook(when=failed, step=Step(name=name, action=TRUE)) for name in names)
    found = templates(Workflow(name="w", steps=(Step(name="a", action=TRUE, hooks=hooks),)))
    [task] = found["main"]["dag"]["tasks"]
    assert set(task["hooks"]) == {"exit-hook", "exit-hook-hook"}
