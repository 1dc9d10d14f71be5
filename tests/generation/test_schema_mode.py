"""The form: what it becomes, and that it is repaired like programs are."""

from __future__ import annotations

import typing as t
from pathlib import Path

import pytest
from pydantic import ValidationError

from couler import stages
from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.generation import (
    CodeLake,
    GenerateOptions,
    generate_workflow as generate,
    revise_workflow as revise,
)
from couler.generation.sketch import Sketch, workflow_of
from tests.generation.replies import Replies, Reply

LAKE = CodeLake([])
OPTIONS = GenerateOptions(mode="schema")


def step(name: str, command: list[str], **fields: object) -> dict[str, t.Any]:
    given: dict[str, t.Any] = {
        "image": "busybox:1.36",
        "args": [],
        "result_type": "str",
        "files_in": [],
        "files_out": [],
        "after": [],
        "after_failure_of": [],
        "when": None,
        "for_each": None,
        "max_parallel": None,
        "retries": 0,
        "timeout_s": None,
        "cpu": None,
        "memory": None,
        "gpus": 0,
    }
    return given | {"name": name, "command": command} | fields


def form(*steps: dict[str, t.Any], **fields: object) -> dict[str, t.Any]:
    given = {"reasoning": "So.", "name": "made", "parameters": [], "schedule": ""}
    return given | {"steps": steps, "handlers": [], "outputs": []} | fields


def said(tree: dict[str, t.Any], name: str = "sketch") -> Reply:
    return name, tree


RESULT = {"step": "list", "output": "result"}

WHOLE = form(
    step("list", ["sh", "-c", "echo [1,2,3]"], result_type="list"),
    step(
        "double",
        ["sh", "-c", "echo $(($1 * $2))", "sh"],
        args=[{"item": True}, {"parameter": "factor"}],
        for_each=RESULT,
        result_type="int",
        max_parallel=2,
        retries=1,
    ),
    step("sum", ["echo"], args=[{"step": "double", "output": "result"}]),
    step(
        "write",
        ["sh", "-c", "echo $0 > made.txt", "text"],
        files_out=[{"name": "f", "path": "made.txt"}],
    ),
    step(
        "read",
        ["cat", "in/made.txt"],
        files_in=[{"path": "in/made.txt", "step": "write", "output": "f"}],
    ),
    step("fails", ["false"]),
    step("mends", ["echo", "mended"], after_failure_of=["fails"]),
    step(
        "skipped",
        ["echo"],
        after=["read"],
        when={"left": {"parameter": "factor"}, "operator": ">", "right": {"value": 10}},
    ),
    parameters=[{"name": "factor", "default": 2}],
    handlers=[{"status": "any", "step": step("tell", ["echo"], args=[{"run": "status"}])}],
    outputs=[
        {"name": "sum", "value": {"step": "sum", "output": "result"}},
        {"name": "read", "value": {"step": "read", "output": "result"}},
    ],
)


def test_a_form_runs_as_it_says(tmp_path: Path) -> None:
    workflow = workflow_of(Sketch.model_validate(WHOLE))
    assert stages.diagnose(workflow) == ()
    result = LocalBackend().run(workflow, options=RunOptions(home=tmp_path))
    assert result.status == "succeeded", result
    assert result.outputs == {"sum": "[2,4,6]", "read": "text"}
    assert result.steps["skipped"].status == "skipped"
    assert result.steps["mends"].status == "succeeded"


def test_one_of_several_failures_is_enough(tmp_path: Path) -> None:
    tree = form(
        step("a", ["false"]),
        step("b", ["true"]),
        step("alert", ["echo", "look"], after_failure_of=["a", "b"]),
    )
    workflow = workflow_of(Sketch.model_validate(tree))
    result = LocalBackend().run(workflow, options=RunOptions(home=tmp_path))
    assert result.steps["alert"].status == "succeeded"


def test_resources_and_times_are_kept() -> None:
    tree = form(
        step("fit", ["true"], cpu="2", memory="4Gi", gpus=1, timeout_s=60), schedule="0 3 * * *"
    )
    workflow = workflow_of(Sketch.model_validate(tree))
    (fit,) = workflow.steps
    assert fit.resources is not None
    assert fit.resources.gpu is not None
    assert (fit.resources.cpu, fit.resources.memory, fit.resources.gpu.count) == ("2", "4Gi", 1)
    assert fit.timeout_s == 60
    assert workflow.schedule is not None
    assert workflow.schedule.cron == ("0 3 * * *",)


def test_a_form_is_repaired_and_changed() -> None:
    wrong = form(step("a", ["echo"], args=[{"step": "b", "output": "result"}]))
    right = form(step("a", ["echo", "1"]))
    model = Replies(said(wrong), said(right, "sketch-revise"))
    found = generate("Print 1.", model, OPTIONS, lake=LAKE)
    assert found.is_verified
    assert found.program is None
    assert "CLR" in model.told(1)
    assert '"b"' in model.told(1)
    model = Replies(said(form(step("a", ["echo", "2"])), "sketch-revise"))
    changed = revise(found, "Print 2.", model, OPTIONS, lake=LAKE)
    assert changed.is_verified
    assert "Print 2." in model.told(0)
    assert changed.form is not None
    assert '"2"' in changed.form


@pytest.mark.parametrize(
    "fields", [{"name": "no name!"}, {"schedule": "at noon"}, {"timeout_s": -1}]
)
def test_what_the_ir_does_not_take_is_told(fields: dict[str, t.Any]) -> None:
    timeout = fields.pop("timeout_s", None)
    wrong = form(step("a", ["true"], timeout_s=timeout), **fields)
    model = Replies(said(wrong))
    found = generate("x", model, GenerateOptions(mode="schema", max_repairs=0), lake=LAKE)
    assert not found.is_verified
    assert found.errors


@pytest.mark.parametrize("number", ["Infinity", "NaN", "1e999"])
def test_what_is_no_number_of_json_is_not_in_the_form(number: str) -> None:
    text = Sketch.model_validate(WHOLE).model_dump_json()
    for field in ('"timeout_s":null', '"default":2'):
        name = field.partition(":")[0]
        assert field in text
        with pytest.raises(ValidationError, match="finite number"):
            Sketch.model_validate_json(text.replace(field, f"{name}:{number}", 1))
