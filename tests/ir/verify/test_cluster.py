"""Rules for container sets, calls of templates, plugins, and pauses that give values."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.artifacts import S3Location
from couler.ir.base import FrozenDict
from couler.ir.pods import PodContainer
from couler.ir.policies import Cache, Resources, Retry
from couler.ir.storage import EnvVar
from couler.ir.values import Literal, StepRef
from couler.ir.workflow import (
    Action,
    ContainerSet,
    ExitHandler,
    Input,
    Output,
    Parameter,
    Plugin,
    Step,
    StoredWorkflow,
    Suspend,
    TemplateCall,
    Workflow,
)
from tests.support.sample_flows import AGAIN, echo, flow
from tests.support.verification import codes

GIVEN = (Input(name="x", value=Literal(value="y")),)
VALUE = Output(name="n", type="int")


def does(action: Action, **fields: t.Any) -> list[str]:
    return codes(flow(Step(name="a", action=action, **fields)))


def box(name: str, **fields: t.Any) -> PodContainer:
    return PodContainer(name=name, image="alpine:3", command=("true",), **fields)


def both(*containers: PodContainer) -> ContainerSet:
    return ContainerSet(containers=containers)


def test_stored_workflows() -> None:
    stored = StoredWorkflow(name="train")
    given = (Parameter(name="rate", type="float", default=0.1),)
    assert codes(Workflow(name="w", stored=stored, parameters=given, timeout_s=60)) == []
    assert codes(flow(echo("a"), stored=stored)) == ["CLR435"]
    handler = ExitHandler(name="end", on="any", steps=(echo("a"),))
    assert codes(Workflow(name="w", stored=stored, exit_handlers=(handler,))) == ["CLR435"]
    assert codes(Workflow(name="w", stored=StoredWorkflow(name="My Train"))) == ["CLR411"]


def test_files_for_those_that_run_elsewhere() -> None:
    make = echo("m", outputs=(Output(name="f", type="file", path="f"),))
    of_step = Input(name="x", type="file", value=StepRef(step="m", output="f"))
    located = Input(name="x", type="file", at=S3Location(key="a", bucket="b"))
    call, plugin = TemplateCall(collection="s", template="t"), Plugin(name="p", body=FrozenDict())

    def found(action: Action, given: Input) -> list[str]:
        return codes(flow(make, Step(name="a", action=action, inputs=(given,))))

    assert found(call, of_step) == []
    assert found(call, located) == ["CLR462"]
    assert found(call, of_step.model_copy(update={"optional": True})) == ["CLR462"]
    assert found(plugin, of_step) == ["CLR462"]
    assert found(plugin, located) == ["CLR462"]


def test_good_sets() -> None:
    assert does(both(box("a"), box("b", depends_on=("a",)))) == []
    files = (Output(name="n", type="int", path="n"),)
    assert does(both(box("main")), inputs=GIVEN, outputs=files, retry=Retry(limit=1)) == []


@pytest.mark.parametrize(
    "containers",
    [
        (box("a", depends_on=("b",)),),
        (box("a", depends_on=("b",)), box("b", depends_on=("a",))),
        (box("a", depends_on=("a",)),),
    ],
)
def test_containers_that_cannot_start(containers: tuple[PodContainer, ...]) -> None:
    assert does(both(*containers)) == ["CLR434"]


def test_containers_of_a_set_are_checked() -> None:
    assert does(both(box("a"), box("a"))) == ["CLR151"]
    assert does(both(box("init"))) == ["CLR153"]
    assert does(both(box("a", mirror_mounts=True))) == ["CLR410"]
    assert does(both(PodContainer(name="a", image=""))) == ["CLR408"]
    assert codes(flow(echo("a", sidecars=(box("b", depends_on=("c",)),)))) == ["CLR434"]


def test_inputs_and_outputs_are_those_of_main() -> None:
    assert does(both(box("a")), inputs=GIVEN) == ["CLR434"]
    assert does(both(box("main")), outputs=(Output(name="f", type="file"),)) == ["CLR169"]


@pytest.mark.parametrize(
    "fields",
    [{"env": (EnvVar(name="X", value="x"),)}, {"resources": Resources(cpu="1")}],
    ids=["env", "resources"],
)
def test_settings_of_containers_belong_to_them(fields: dict[str, t.Any]) -> None:
    assert does(both(box("a")), **fields) == ["CLR410"]


CALL = TemplateCall(collection="shared", template="echo")


def test_calls() -> None:
    assert does(CALL, inputs=GIVEN, outputs=(VALUE,)) == []
    assert does(CALL, outputs=(Output(name="f", type="file"),)) == ["CLR169"]
    assert does(CALL.model_copy(update={"collection": "A b"})) == ["CLR411"]
    assert does(CALL.model_copy(update={"template": "a b"})) == ["CLR411"]
    assert does(CALL, retry=Retry(limit=1)) == ["CLR410"]
    assert does(CALL, cache=Cache()) == ["CLR410"]


def test_plugins() -> None:
    plugin = Plugin(name="slack", body=FrozenDict(channel="ml"))
    assert does(plugin, inputs=GIVEN, outputs=(VALUE,), retry=Retry(limit=1)) == []
    assert does(plugin.model_copy(update={"name": ""})) == ["CLR411"]
    assert does(plugin, outputs=(Output(),)) == ["CLR169"]


def test_pauses_with_values() -> None:
    assert does(Suspend(), outputs=(VALUE,)) == []
    assert does(Suspend(), outputs=(Output(name="f", type="file"),)) == ["CLR169"]
    assert does(Suspend(seconds=1), outputs=(VALUE,)) == ["CLR169"]
    assert does(Suspend(seconds=1), outputs=(Output(name="n", type="int", default=3),)) == []
    assert does(Suspend(), loop=AGAIN) == ["CLR410"]
