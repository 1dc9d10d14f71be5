"""Container sets, calls of templates, plugins and pauses with values, as programs write them."""

from __future__ import annotations

import json

import pytest

import couler
from couler.backends.base import Target
from couler.errors import EngineOptionError, UnsupportedFeatureError
from couler.ir.artifacts import ListFiles, S3Location
from couler.ir.values import ItemRef, Literal, ParamRef, StepRef, Template
from couler.ir.workflow import (
    ContainerSet,
    Output,
    Parameter,
    Plugin,
    SetRetry,
    StoredWorkflow,
    TemplateCall,
)


def test_container_sets() -> None:
    with couler.Workflow("w", rows=3) as wf:
        made = couler.run_container("busybox", ["true"], step_name="a", output=couler.File("/m"))
        both = couler.run_container_set(
            [
                couler.PodContainer("fetch", "busybox", ["echo", wf.params.rows], cpu=1),
                couler.PodContainer("main", "busybox", ["true"], depends_on=["fetch"]),
            ],
            input=made,
            output={"n": couler.create_parameter_artifact("n", type=int)},
            container_retry=2,
            container_wait="10s",
            retry=1,
            step_name="both",
        )
        couler.run_container("busybox", ["echo", both.n], step_name="show")
    assert wf.diagnostics == ()
    step = wf.to_ir().steps[1]
    assert isinstance(step.action, ContainerSet)
    assert step.action.retry == SetRetry(limit=2, wait_s=10)
    fetch, main = step.action.containers
    assert fetch.command == ("echo", ParamRef(name="rows"))
    assert main.depends_on == ("fetch",)
    assert [given.value for given in step.inputs] == [StepRef(step="a", output="m")]


def test_calls_of_templates() -> None:
    with couler.Workflow("w", table="x") as wf:
        made = couler.run_container("busybox", ["true"], step_name="a", output=couler.File("/m"))
        counted = couler.call_template(
            "shared",
            "count",
            {"text": wf.params.table, "limit": 3, "rows": made},
            outputs={"total": int, "note": str},
            cluster_wide=True,
        )
        couler.run_container("busybox", ["echo", counted.total, counted.note], step_name="show")
    assert wf.diagnostics == ()
    step = wf.to_ir().steps[1]
    assert step.name == "count"
    assert step.action == TemplateCall(collection="shared", template="count", cluster_wide=True)
    assert [(one.name, one.type, one.value) for one in step.inputs] == [
        ("text", "str", ParamRef(name="table")),
        ("limit", "int", Literal(value=3)),
        ("rows", "file", StepRef(step="a", output="m")),
    ]
    assert [(one.name, one.type) for one in step.outputs] == [("total", "int"), ("note", "str")]


def test_plugins() -> None:
    with couler.Workflow("w") as wf:
        couler.run_plugin("slack", {"channel": "ml"}, {"text": "done"}, outputs={"id": int})
    [step] = wf.to_ir().steps
    assert step.action == Plugin(name="slack", body={"channel": "ml"})
    assert (step.name, step.outputs) == ("slack", (Output(name="id", type="int"),))


def test_stored_workflows() -> None:
    wf = couler.Workflow.from_template(
        "train", {"rate": 0.1}, cluster_wide=True, name="nightly", schedule="0 3 * * *"
    )
    made = wf.to_ir()
    assert wf.diagnostics == ()
    assert made.name == "nightly"
    assert made.stored == StoredWorkflow(name="train", cluster_wide=True)
    assert made.parameters == (Parameter(name="rate", type="float", default=0.1),)
    manifest = json.loads(wf.compile("argo", format="json").to_text())
    assert manifest["kind"] == "CronWorkflow"
    assert manifest["spec"]["workflowSpec"] == {
        "workflowTemplateRef": {"name": "train", "clusterScope": True},
        "arguments": {"parameters": [{"name": "rate", "value": "0.1"}]},
    }
    with pytest.raises(EngineOptionError, match="is stored already"):
        wf.compile("argo", target=Target(options={"kind": "WorkflowTemplate"}))
    with pytest.raises(UnsupportedFeatureError, match="that a cluster keeps"):
        wf.run()
    assert couler.Workflow.from_template(3).diagnostics[0].code == "CLR105"  # type: ignore[arg-type]


def test_lists_of_files() -> None:
    with couler.Workflow("w", day="monday") as wf:
        day = couler.S3Artifact(bucket="data", key=couler.text("in/{}", wf.params.day))
        keys = couler.list_files(day, "*.csv", retry=2, step_name="keys")
        couler.map(
            lambda key: couler.run_container(
                "busybox",
                ["cat", "table"],
                step_name="show",
                input=couler.S3Artifact("table", bucket="data", key=key),
            ),
            keys,
        )
        folders = couler.map(
            lambda folder: couler.list_files(couler.S3Artifact(bucket="data", key=folder)),
            ["a", "b"],
        )
        couler.run_container("busybox", ["echo", folders], step_name="all")
    assert wf.diagnostics == ()
    found = {step.name: step for step in wf.to_ir().steps}
    at = S3Location(bucket="data", key=Template(parts=("in/", ParamRef(name="day"))))
    assert found["keys"].action == ListFiles(at=at, pattern="*.csv")
    assert found["show"].foreach is not None
    assert found["show"].foreach.over["key"] == StepRef(step="keys")
    listed = found["list-files"].action
    assert isinstance(listed, ListFiles)
    assert listed.at == S3Location(bucket="data", key=ItemRef(name="folder"))


def test_lists_of_no_location() -> None:
    with couler.Workflow("w") as wf:
        couler.list_files("data/in", step_name="a")
        couler.list_files(couler.S3Artifact(key="in", archive="tar"), step_name="b")
    assert [(one.code, one.step) for one in wf.diagnostics] == [
        ("CLR105", "a"),
        ("CLR105", "b"),
    ]


def test_pauses_with_values() -> None:
    with couler.Workflow("w") as wf:
        asked = couler.suspend(step_name="ask", outputs={"rate": float, "note": "none"})
        couler.run_container("busybox", ["echo", asked.rate, asked.note], step_name="show")
    assert wf.diagnostics == ()
    assert wf.to_ir().steps[0].outputs == (
        Output(name="rate", type="float"),
        Output(name="note", default="none"),
    )


def test_what_is_wrong_is_told() -> None:
    with couler.Workflow("w") as wf:
        couler.run_container_set(["x"], step_name="a")  # type: ignore[list-item]  # that is the test
        couler.run_container_set(
            [couler.PodContainer("main", "busybox")], container_wait=3, step_name="b"
        )
        couler.call_template("shared", 3, step_name="c")  # type: ignore[arg-type]
        couler.run_plugin("x", {"y": 1}, outputs={"z": set}, step_name="d")
    found = [(one.code, one.step) for one in wf.diagnostics]
    assert ("CLR105", "a") in found
    assert ("CLR105", "b") in found
    assert ("CLR105", "c") in found
    assert ("CLR108", "d") in found
