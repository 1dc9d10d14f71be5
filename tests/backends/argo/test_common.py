"""What is the same for all of a run is read in the templates, and is no argument of theirs."""

from __future__ import annotations

import json
import typing as t

import couler
from couler import stages
from couler.backends.argo.common import write_fixed_arguments
from couler.backends.argo.tags import Tagged
from couler.dsl.workflow import Workflow


def templates_of(workflow: Workflow) -> dict[str, t.Any]:
    spec = json.loads(stages.compile(workflow, "argo", format="json").to_text())["spec"]
    return {one["name"]: one for one in spec["templates"]}


def say(name: str, word: object) -> t.Any:
    return couler.run_container("busybox:1.37", ["echo", name], args=[word], step_name=name)


def test_a_number_of_the_run_is_read_in_the_template_and_a_text_is_given() -> None:
    with couler.Workflow("flow", number=1, text="a") as workflow:
        say("first", workflow.params.number)
        say("second", workflow.params.text)
    made = templates_of(workflow)
    first, second = made["main"]["dag"]["tasks"]
    assert "arguments" not in first
    assert "inputs" not in made["first"]
    assert made["first"]["container"]["args"] == ["{{workflow.parameters.number}}"]
    [given] = second["arguments"]["parameters"]  # its dollars and braces would be read once more
    [word] = made["second"]["container"]["args"]
    assert word.startswith(f"{{{{=replace(replace(inputs.parameters.{given['name']}, '$', '$$')")


def called(name: str, **given: str) -> dict[str, t.Any]:
    parameters = [{"name": key, "value": text} for key, text in given.items()]
    return {"name": name, "template": "leaf", "arguments": {"parameters": parameters}}


def leaf(command: str, *inputs: str) -> dict[str, t.Any]:
    parameters = {"parameters": [{"name": one} for one in inputs]}
    return {"name": "leaf", "inputs": parameters, "container": {"command": [command]}}


def written(leaf: dict[str, t.Any], *tasks: dict[str, t.Any], hooks: t.Any = None) -> list[t.Any]:
    leaf["container"]["command"] = [Tagged(one) for one in leaf["container"]["command"]]
    found = [{"name": "main", "dag": {"tasks": list(tasks)}}, leaf]
    write_fixed_arguments(found, hooks or {})
    return found


RUN = "{{workflow.name}}/x"


def test_callers_that_differ_go_on_giving_it() -> None:
    both = called("a", at=RUN), called("b", at="{{workflow.name}}/y")
    main, made = written(leaf("{{inputs.parameters.at}}", "at"), *both)
    assert made["inputs"] == {"parameters": [{"name": "at"}]}
    assert [len(one["arguments"]["parameters"]) for one in main["dag"]["tasks"]] == [1, 1]


def test_a_caller_that_gives_nothing_is_one() -> None:
    other = {"name": "b", "template": "leaf"}
    main, made = written(leaf("{{inputs.parameters.at}}", "at"), called("a", at=RUN), other)
    assert made["inputs"] == {"parameters": [{"name": "at"}]}
    assert main["dag"]["tasks"][1] == other


def test_a_hook_of_a_task_is_a_caller() -> None:
    task = {**called("a", at=RUN), "hooks": {"exit": called("ended", at="{{workflow.name}}/y")}}
    _, made = written(leaf("{{inputs.parameters.at}}", "at"), task)
    assert made["inputs"] == {"parameters": [{"name": "at"}]}


def test_a_hook_of_the_workflow_is_a_caller() -> None:
    hook = called("ended", at="{{workflow.name}}/y")
    _, made = written(
        leaf("{{inputs.parameters.at}}", "at"), called("a", at=RUN), hooks={"end": hook}
    )
    assert made["inputs"] == {"parameters": [{"name": "at"}]}


def test_what_expressions_read_stays_an_input_and_what_stands_beside_it_goes() -> None:
    command = "{{inputs.parameters.at}}{{=inputs.parameters.of}}"
    main, made = written(leaf(command, "at", "of"), called("a", at=RUN, of=RUN))
    assert made["inputs"] == {"parameters": [{"name": "of"}]}
    assert made["container"]["command"] == [RUN + "{{=inputs.parameters.of}}"]
    [task] = main["dag"]["tasks"]
    assert task["arguments"] == {"parameters": [{"name": "of", "value": RUN}]}


def test_a_template_that_looks_at_all_its_inputs_keeps_them() -> None:
    command = "{{inputs.parameters.at}}{{=toJson(inputs.parameters)}}"
    _, made = written(leaf(command, "at"), called("a", at=RUN))
    assert made["inputs"] == {"parameters": [{"name": "at"}]}


def test_values_that_only_a_task_knows_are_given() -> None:
    for text in ("{{item}}", "{{tasks.b.outputs.result}}", "{{=workflow.name}}", "$HOME"):
        _, made = written(leaf("{{inputs.parameters.at}}", "at"), called("a", at=text))
        assert made["inputs"] == {"parameters": [{"name": "at"}]}, text


def test_what_a_group_is_given_reaches_the_steps_inside() -> None:
    inner = called("a", at=Tagged("{{inputs.parameters.place}}/z"), of=RUN)
    group = {"name": "group", "inputs": {"parameters": [{"name": "place"}]}}
    outer = {**called("g", place=RUN), "template": "group"}
    made = leaf("", "at", "of")
    made["container"]["command"] = [Tagged("{{inputs.parameters.at}}{{inputs.parameters.of}}")]
    main = {"name": "main", "dag": {"tasks": [outer]}}
    found: list[t.Any] = [main, {**group, "steps": [[inner]]}, made]
    write_fixed_arguments(found, {})
    assert found[0]["dag"]["tasks"] == [{"name": "g", "template": "group"}]
    assert found[1] == {"name": "group", "steps": [[{"name": "a", "template": "leaf"}]]}
    assert found[2] == {"name": "leaf", "container": {"command": [f"{RUN}/z{RUN}"]}}
