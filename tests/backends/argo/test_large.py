"""Large texts reach the process as they are, or are refused: where Argo goes past the kubelet."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from couler import stages
from couler.backends.argo import ArgoBackend
from couler.backends.argo.processes import (
    json_bytes,
    way_of_arguments,
    way_of_manifest,
    words_bytes,
)
from couler.backends.base import Target
from couler.ir.pods import PodContainer
from couler.ir.storage import EnvVar
from couler.ir.values import Literal, ManifestValue, StepRef, Template, Text
from couler.ir.workflow import Container, ContainerSet, Input, Job, Output, Script, Step, Workflow
from tests.support import argo_oracle
from tests.support.mills import kubelet

DOLLARS = "$$ $(ARGO_POD_NAME) $(date) $HOME"
TAG = "{{workflow.name}}"
BIG = "x" * 50_000


@pytest.mark.parametrize(
    ("text", "size"),
    [  # as json.Marshal of Go writes them
        ("a\n", 5),
        ("<ü>", 16),
        ("\x01", 8),
        ("\u2028", 8),
        ('\b\f\t\r\x7f"\\/', 16),
        ("😀", 6),
        ("", 2),
    ],
)
def test_sizes_are_those_of_go(text: str, size: int) -> None:
    assert json_bytes(text) == size
    assert words_bytes([text, text]) == 2 * size + 3


@pytest.mark.parametrize(
    ("args", "way"),
    [
        ([], "kubelet"),
        ([DOLLARS, TAG, "x" * 131_000], "none"),  # the protection alone takes it over the limit
        ([DOLLARS, "x" * 130_000], "kubelet"),
        (["x" * 131_000], "kubelet"),
        (["$$" * 30_000], "kubelet"),
        (["$$" * 65_000], "none"),
        ([BIG, BIG, BIG, DOLLARS], "config_map"),
        ([BIG, BIG, BIG, TAG], "none"),
        ([BIG, BIG, BIG, Literal(value={"a": "{{item}}"})], "config_map"),
        (["<" * 30_000, DOLLARS], "config_map"),
        ([StepRef(step="a"), BIG, BIG], "kubelet"),  # nobody knows before the run
        ([StepRef(step="a"), BIG, BIG, BIG], "config_map"),
    ],
)
def test_the_way_of_arguments(args: list[Text], way: str) -> None:
    assert way_of_arguments(args) == way


def box(*args: Text) -> PodContainer:
    return PodContainer(name="box", image="busybox:1.37", command=("true",), args=args)


def script(source: str, command: str = "python", **fields: object) -> Step:
    action = Script(image="python:3.12-slim", source=source, command=(command,))
    return Step(name="script", action=action, outputs=(Output(),), **fields)


MANY = (Input(name="x", value=StepRef(step="a"), type="str"),)


def container(*args: Text, name: str = "args") -> Step:
    action = Container(image="busybox:1.37", command=("sh", "-c", PRINT, "sh"), args=args)
    return Step(name=name, action=action, outputs=(Output(),))


def containers(beside: PodContainer) -> Step:
    main = beside.model_copy(update={"name": "main", "args": ()})
    return Step(name="set", action=ContainerSet(containers=(main, beside)))


PRINT = 'for word; do echo "${#word} $(printf %s "$word" | cut -c 1-60)"; done'

A = Step(name="a", action=Container(image="busybox:1.37", command=("sh", "-c", "true")))


@pytest.mark.parametrize(
    ("step", "code"),
    [
        (container(BIG, BIG, BIG, TAG), "CLR320"),
        (container("$$" * 65_000), "CLR320"),
        (container(BIG, BIG, BIG, DOLLARS), None),
        (script("$$" * 50_000, "sh"), "CLR320"),
        (script("print '$$'", "lua", inputs=MANY), "CLR312"),
        (script(f"print '{TAG}'", "lua"), "CLR312"),
        (script("true", sidecars=(box(BIG, BIG, BIG, DOLLARS),)), "CLR320"),
        (script("true", sidecars=(box(BIG, BIG, BIG),)), None),
        (script("true", init_containers=(box(BIG, BIG, BIG, DOLLARS),)), None),
        (containers(box(BIG, BIG, BIG, DOLLARS)), "CLR320"),
        (containers(box(BIG, BIG, BIG)), None),
    ],
    ids=range(11),
)
def test_what_has_no_way_is_refused(step: Step, code: str | None) -> None:
    found = [one.code for one in ArgoBackend().check(Workflow(name="w", steps=(A, step)), Target())]
    assert found == ([] if code is None else [code])


NAMED = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "a-"}}


@pytest.mark.parametrize(
    ("size", "given", "way"),
    [
        (100, None, "protected"),
        (50_000, None, "protected"),
        (100_000, None, "none"),
        (131_072, None, "plain"),
        (131_072, StepRef(step="a"), "plain"),
    ],
)
@pytest.mark.parametrize("own", [False, True])
def test_the_way_of_a_manifest(size: int, given: StepRef | None, way: str, own: bool) -> None:
    values = () if given is None else (ManifestValue(path=("value",), value=given),)
    manifest = {**NAMED, "text": DOLLARS, "long": "x" * size, "value": None}
    job = Job(manifest=manifest, values=values, set_owner_reference=own)
    assert way_of_manifest(job) == way
    bare = job.model_copy(update={"manifest": manifest | {"text": "x"}})
    assert way_of_manifest(bare) == ("protected" if way == "none" else way)
    workflow = Workflow(name="w", steps=(A, Step(name="job", action=job)))
    found = [one.code for one in ArgoBackend().check(workflow, Target())]
    assert found == (["CLR320"] if way == "none" else [])
    text = ArgoBackend().compile(workflow, Target(), format="json").to_text()
    [template] = [one for one in json.loads(text)["spec"]["templates"] if "resource" in one]
    read = template["resource"]["manifest"]
    if way != "none":
        assert DOLLARS in (kubelet(read, {}) if way == "protected" else read)
    assert ("'$$'" in read) is False


LONG = 'print("$$ $(ARGO_POD_NAME)")\n' + "# long\n" * 20_000


def _flow(*steps: Step) -> Workflow:
    outputs = tuple(
        Output(name=step.name, value=StepRef(step=step.name)) for step in steps if step.outputs
    )
    return Workflow(name="large", steps=steps, outputs=outputs)


def _values() -> Workflow:
    """Values that only the run knows, and that take the template over the limit."""
    make = Step(
        name="make",
        action=Script(image="python:3.12-slim", source="print('$' * 60_000)"),
        outputs=(Output(),),
    )
    inputs = tuple(
        Input(name=f"x{number}", value=StepRef(step="make"), type="str") for number in range(3)
    )
    show = f"""
import os
print({DOLLARS!r}, [os.environ["COULER_INPUT_x" + n] == "$" * 60_000 for n in "012"])
"""
    steps = (make, script(show, inputs=inputs))
    value = Output(name="script", value=StepRef(step="script"))
    return Workflow(name="large", steps=steps, outputs=(value,))


LARGE = {
    "script": _flow(script(LONG)),
    "script-of-medium-size": _flow(script(LONG[:120_000] + "\n")),
    "values-of-a-script": _values(),
    "arguments": _flow(container(BIG, BIG, BIG, DOLLARS)),
    "arguments-of-medium-size": _flow(container(BIG, BIG, DOLLARS)),
    "arguments-and-a-value": _flow(
        Step(
            name="make",
            action=Container(image="busybox:1.37", command=("echo", "$$ $(HOME)")),
            outputs=(Output(),),
        ),
        container(BIG, BIG, BIG, DOLLARS, StepRef(step="make"), Template(parts=("$$", BIG))),
    ),
    "arguments-that-differ": _flow(
        container(BIG, BIG, BIG, DOLLARS, name="step-1"),
        container(BIG, BIG, "y" * 40_000, "$$$$", name="step-2"),
    ),
    "variables": _flow(
        Step(
            name="env",
            action=Container(image="busybox:1.37", command=("sh", "-c", "env | grep -c ^V")),
            env=tuple(EnvVar(name=f"V{n}", value=f"{n} $$") for n in range(3000)),
            outputs=(Output(),),
        )
    ),
}


def test_values_that_are_too_long_together_fail_the_step() -> None:
    make = script("print('x' * 60_000)")
    read = StepRef(step="script")
    long = Template(parts=(read, read, read))
    argument = container(long, name="argument")
    action = Container(image="busybox:1.37", command=("true",))
    variable = Step(name="variable", action=action, env=(EnvVar(name="LONG", value=long),))
    result = stages.run(Workflow(name="large", steps=(make, argument, variable)))
    messages = {path: step.message for path, step in result.steps.items() if step.message}
    assert messages == {
        "argument": "argument 4 takes 180,000 bytes, and a process takes at most 131,071 in one "
        "argument or variable. Give it as a file",
        "variable": 'the variable "LONG" takes 180,005 bytes, and a process takes at most 131,071 '
        "in one argument or variable. Give it as a file",
    }


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available()))
@pytest.mark.parametrize("name", LARGE)
def test_argo_gives_what_this_machine_gives(name: str, tmp_path: Path) -> None:
    expected = stages.run(LARGE[name])
    assert expected.status == "succeeded"
    text = stages.compile(LARGE[name], "argo").to_text()
    run = argo_oracle.run(text, work_dir=tmp_path)
    assert run.phase == "Succeeded", [node.message for node in run.nodes]
    assert run.root.outputs == expected.outputs
