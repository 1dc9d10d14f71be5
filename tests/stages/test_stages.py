"""`Workflow -> Plan -> Artifact -> Run`: what each stage takes, gives and refuses."""

from __future__ import annotations

import contextlib
import gc
import json
import typing as t
from dataclasses import dataclass
from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import RunOptions, Target
from couler.errors import (
    EngineOptionError,
    InvalidWorkflowError,
    ParameterError,
    UnsupportedFeatureError,
)
from couler.ir.base import FrozenDict
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef
from couler.ir.workflow import Container, Defaults, Job, Parameter, Script, Step, Workflow
from couler.optimizers.base import PassContext

SHELL = Container(image="busybox:1.36", command=("sh", "-c", "echo done"))


def step(name: str, *after: str, line: int | None = None, **fields: t.Any) -> Step:
    source = None if line is None else SourceRef(file="flow.py", line=line)
    return Step(**{"name": name, "action": SHELL, "depends_on": after, "source": source, **fields})


FLOW = Workflow(name="flow", steps=(step("a"), step("b", "a")))
JOB = Job(manifest=FrozenDict(apiVersion="v1", kind="Job"))
ON_A_CLUSTER = Workflow(name="on-a-cluster", steps=(step("a"), step("make", action=JOB, line=7)))
BROKEN = Workflow(
    name="broken", steps=(step("b", "gone", line=9), step("a", "nobody", line=4), step("c", "c"))
)


@dataclass(frozen=True)
class AddStep:
    """Adds a step at the end."""

    name: t.ClassVar[str] = "add-step"
    called: str = "extra"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        context.explain("There was room.")
        added = Step(name=self.called, action=SHELL)
        return workflow.model_copy(update={"steps": (*workflow.steps, added)})


class Program:
    """A workflow with what building it reported, as the DSL gives it."""

    name = "flow"

    def __init__(self, *diagnostics: Diagnostic) -> None:
        self.diagnostics = diagnostics

    def to_ir(self) -> Workflow:
        return FLOW


class TestPlan:
    def test_without_passes_is_the_workflow_itself(self) -> None:
        plan = stages.plan(FLOW, passes=())
        assert plan.workflow is FLOW
        assert plan.log.records == ()
        assert plan.engine is None
        assert plan.size_before == plan.size_after

    def test_defaults_are_merged_and_told_of(self) -> None:
        flow = FLOW.model_copy(update={"defaults": Defaults(timeout_s=5.0)})
        plan = stages.plan(flow, passes=())
        assert [one.timeout_s for one in plan.workflow.steps] == [5.0, 5.0]
        first, *others = plan.log.records
        assert first.name == "resolve-defaults"
        assert all(record.after is record.before for record in others)

    def test_text_and_json_tell_the_same(self) -> None:
        plan = stages.plan(FLOW, engine="argo", passes=[AddStep()])
        text = plan.to_text()
        assert text.startswith('plan of "flow" for argo\n')
        assert "There was room." in text
        rows = [line.split() for line in text.splitlines()]
        [whole] = [row for row in rows if row[:2] == ["all", "passes"]]
        assert whole[4:8] == ["2", "->", "3", "1"]
        tree = json.loads(json.dumps(plan.to_json()))
        assert tree["schema_version"] == stages.SCHEMA_VERSION
        assert tree["passes"][0]["changes"] == [{"kind": "added", "step": "extra"}]
        assert (tree["before"]["steps"], tree["after"]["steps"]) == (2, 3)

    def test_warnings_of_one_line_are_folded(self) -> None:
        source = SourceRef(file="flow.py", line=3)
        warnings = [
            Diagnostic("CLR998", f"hm {number}", source=source, severity="warning")
            for number in range(30)
        ]
        lines = stages.plan(Program(*warnings)).to_text().splitlines()
        assert sum("CLR998" in line for line in lines) == 6
        assert lines[-1] == "flow.py:3  CLR998 warning  and 25 more of this line"

    def test_what_building_reported_counts(self) -> None:
        error = Diagnostic("CLR999", "no")
        with pytest.raises(InvalidWorkflowError) as caught:
            stages.plan(Program(error))
        assert caught.value.diagnostics == (error,)
        warning = Diagnostic("CLR998", "hm", severity="warning")
        assert stages.plan(Program(warning)).diagnostics == (warning,)

    def test_what_the_engine_lacks(self) -> None:
        with pytest.raises(UnsupportedFeatureError) as caught:
            stages.plan(ON_A_CLUSTER, engine="local")
        [only] = caught.value.diagnostics
        assert (only.code, only.step, only.source.line) == ("CLR301", "make", 7)
        assert "Engines that can: airflow, argo" in only.message
        assert stages.plan(ON_A_CLUSTER, engine="argo").workflow is ON_A_CLUSTER

    def test_unknown_names(self) -> None:
        with pytest.raises(EngineOptionError, match="no engine"):
            stages.plan(FLOW, engine="nope")
        with pytest.raises(EngineOptionError, match="no pass"):
            stages.plan(FLOW, passes=["nope"])
        with pytest.raises(EngineOptionError, match="no profile"):
            stages.plan(FLOW, engine="argo", target=Target(profile="nope"))


class TestCompile:
    def test_workflow_program_and_plan_give_the_same(self) -> None:
        artifact = stages.compile(FLOW, "argo")
        assert artifact.engine == "argo"
        assert "kind: Workflow" in artifact.to_text()
        assert stages.compile(Program(), "argo") == artifact
        assert stages.compile(stages.plan(FLOW, engine="argo"), "argo") == artifact
        assert stages.compile(stages.plan(FLOW), "argo") == artifact

    def test_format(self) -> None:
        assert json.loads(stages.compile(FLOW, "argo", format="json").to_text())
        with pytest.raises(EngineOptionError):
            stages.compile(FLOW, "argo", format="nope")

    def test_plan_brings_its_target(self) -> None:
        target = Target(profile="argo-minimal-crd")
        planned = stages.plan(FLOW, engine="argo", target=target)
        assert stages.compile(planned, "argo") == stages.compile(FLOW, "argo", target=target)

    def test_plan_is_compiled_as_it_was_planned(self) -> None:
        planned = stages.plan(FLOW, engine="local", passes=[AddStep()])
        assert "extra" in stages.compile(planned, "local").to_text()

    def test_invalid(self) -> None:
        with pytest.raises(InvalidWorkflowError):
            stages.compile(BROKEN, "argo")


class TestDiagnose:
    def test_nothing(self) -> None:
        assert stages.diagnose(FLOW, ["argo", "local"]) == ()

    def test_everything_by_line(self) -> None:
        broken = BROKEN.model_copy(
            update={"steps": (*BROKEN.steps, step("make", action=JOB, line=5))}
        )
        found = stages.diagnose(broken, ["local", "local"])
        assert [one.source.line if one.source else None for one in found] == [4, 5, 9, None]
        assert found[1].code == "CLR301"


class TestRun:
    def test_to_its_end(self, tmp_path: Path) -> None:
        events = []
        flow = FLOW.model_copy(
            update={"parameters": (Parameter(name="n", type="int", required=True),)}
        )
        result = stages.run(
            flow, parameters={"n": "3"}, options=RunOptions(home=tmp_path), on_event=events.append
        )
        assert result.status == "succeeded"
        assert result.folder == tmp_path / "runs" / result.run_id
        assert {str(event.path) for event in events} == set(result.steps) == {"a", "b"}

    def test_failure_raises_nothing(self) -> None:
        fails = step("a", action=Script(image="python:3.12-slim", source="raise SystemExit(3)"))
        result = stages.run(Workflow(name="fails", steps=(fails, step("b", "a"))))
        assert result.status == "failed"
        assert result.steps["b"].status == "omitted"

    def test_what_it_refuses(self) -> None:
        with pytest.raises(InvalidWorkflowError):
            stages.run(BROKEN)
        with pytest.raises(UnsupportedFeatureError):
            stages.run(ON_A_CLUSTER)
        with pytest.raises(ParameterError):
            stages.run(FLOW, parameters={"nope": 1})


class TestShow:
    def test_program_and_ir(self) -> None:
        assert stages.show(FLOW) == stages.show(Program())
        assert stages.show(FLOW, "svg").startswith("<svg")


def test_dsl_is_a_program_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import couler

    with couler.Workflow("from-the-dsl") as flow:
        couler.run_container("busybox:1.36", ["sh", "-c", "echo hi"], step_name="hi")
    assert isinstance(flow, stages.ProgramWorkflow)
    assert flow.plan("argo").workflow.name == "from-the-dsl"
    assert flow.compile("argo") == stages.compile(flow.to_ir(), "argo")
    assert flow.run().status == "succeeded"
    assert flow.show() == stages.show(flow)


def test_compiling_leaves_the_collection_of_garbage_as_it_was() -> None:
    hello = Step(name="a", action=Container(image="alpine", command=("true",)))
    for workflow in (Workflow(name="w", steps=(hello,)), Workflow(name="w")):
        with contextlib.suppress(InvalidWorkflowError):
            stages.compile(workflow, "argo")
        assert gc.isenabled()
    gc.disable()
    try:
        stages.compile(Workflow(name="w", steps=(hello,)), "argo")
        assert not gc.isenabled()
    finally:
        gc.enable()
