"""Workflows that are too large for Argo as they are written, compiled by the default passes."""

from __future__ import annotations

import json
import re
import typing as t
from pathlib import Path

import pytest

from couler import stages
from couler.backends.argo.footprint import (
    MAX_BYTES,
    MAX_PARAMETERS,
    MAX_TASKS,
    MAX_TEMPLATES,
    status_bytes,
)
from couler.errors import InvalidWorkflowError
from couler.ir.artifacts import FileRemoval, FileSettings, RunFileRemoval
from couler.ir.base import freeze_json
from couler.ir.values import Literal, OrElse, StepRef
from couler.ir.workflow import Container, ExitHandler, Group, Output, Step, Workflow
from tests.support import argo_oracle, argo_schema
from tests.support.large_workflows import either_way, layered, many_outputs

Tree = dict[str, t.Any]


def objects(count: int, width: int) -> list[Tree]:
    """Compile a workflow of layers; what it makes, the Workflow last."""
    plan = stages.plan(layered(count, width), engine="argo")
    made = json.loads(stages.compile(plan, "argo", format="json").to_text())
    found: list[Tree] = made["items"] if made["kind"] == "List" else [made]
    return found


def check_limits(made: Tree) -> int:
    """Check what Argo takes at most of an object; how many tasks it has."""
    templates = made["spec"]["templates"]
    assert len(templates) <= MAX_TEMPLATES
    for template in templates:
        assert len(template.get("dag", {}).get("tasks", ())) <= MAX_TASKS
        assert len(template.get("inputs", {}).get("parameters", ())) <= MAX_PARAMETERS
    size = len(json.dumps(made, separators=(",", ":"), ensure_ascii=False).encode())
    assert size + status_bytes(made["spec"]) <= MAX_BYTES
    return sum(len(template.get("dag", {}).get("tasks", ())) for template in templates)


@pytest.mark.parametrize(
    ("count", "width"),
    [
        (201, 10),
        (300, 300),
        *(pytest.param(1000, width, marks=pytest.mark.slow) for width in (20, 100)),
    ],
)
def test_steps_that_fit_into_one_object_stay_in_one(count: int, width: int) -> None:
    [made] = objects(count, width)
    assert made["kind"] == "Workflow"
    assert check_limits(made) >= count
    if argo_schema.available():
        assert argo_schema.problems(made) == []


@pytest.mark.parametrize(
    "workflow",
    [
        pytest.param(either_way(300), id="two tasks for one wait"),
        pytest.param(many_outputs(600, 150, 5), id="several values of one step"),
    ],
)
@pytest.mark.slow
def test_what_parts_take_is_measured(workflow: Workflow) -> None:
    """Parts of these take more than is estimated at first."""
    plan = stages.plan(workflow, engine="argo")
    made = json.loads(stages.compile(plan, "argo", format="json").to_text())
    found = made["items"] if made["kind"] == "List" else [made]
    assert sum(map(check_limits, found)) >= len(workflow.steps)


@pytest.mark.slow
def test_what_is_handed_on_between_runs_counts_in_the_first() -> None:
    workflow = many_outputs(600, 100, 6)
    told = (
        r"the run that starts the others would take [\d,]+ of 1,048,576 bytes, [\d,]+ of them for"
    )
    with pytest.raises(InvalidWorkflowError, match=told) as caught:
        stages.plan(workflow, engine="argo", passes=["split{run_steps=30}"])
    assert [problem.code for problem in caught.value.diagnostics] == ["CLR541"]


def test_steps_that_argo_must_keep_together_stay_in_the_first_run() -> None:
    """One that an exit handler reads, the daemon that it needs, and one with a file that goes."""
    flow = layered(60, 6)
    by_name = {step.name: step for step in flow.steps}
    removal = FileRemoval(on="completion")
    inner = Step(
        name="inner",
        action=Container(image="busybox", command=("make",)),
        outputs=(Output(name="f", type="file", path="/tmp/f", removal=removal),),
    )
    keeps = Step(name="keeps", action=Group(steps=(inner,)), depends_on=("s3",))
    serve = Step(name="serve", action=inner.action, daemon=True)
    by_name["s30"] = by_name["s30"].model_copy(update={"depends_on": ("serve",)})
    read = OrElse(value=StepRef(step="s30"), default=Literal(value=0))
    tell = Step(
        name="tell",
        action=Container(image="busybox", command=("echo",), args=(read,)),
    )
    workflow = flow.model_copy(
        update={
            "steps": (serve, *by_name.values(), keeps),
            "exit_handlers": (ExitHandler(name="at-end", on="success", steps=(tell,)),),
        }
    )
    plan = stages.plan(workflow, engine="argo", passes=["split{run_steps=20}"])
    loose = {step.name for step in plan.workflow.steps if step.part is None}
    assert loose == {"serve", "s30", "keeps"}
    for told in (
        'as exit handlers read outputs of them: "s30"',
        'as files of them are removed when the run has ended: "keeps"',
        'as such steps need them as daemons: "serve"',
    ):
        assert told in plan.log.records[-1].reason
    *definitions, main = json.loads(stages.compile(plan, "argo", format="json").to_text())["items"]
    assert len(definitions) >= 3
    for made in (*definitions, main):
        check_limits(made)
        if argo_schema.available():
            assert argo_schema.problems(made) == []
    [entry] = [one for one in main["spec"]["templates"] if one["name"] == "main"]
    assert {task["name"] for task in entry["dag"]["tasks"]} >= loose
    removed = workflow.model_copy(
        update={"files": FileSettings(removal=RunFileRemoval(on="completion"))}
    )
    with pytest.raises(InvalidWorkflowError, match="all steps have to stay in the first run, as f"):
        stages.plan(removed, engine="argo", passes=["split{run_steps=20}"])


def test_a_bounded_group_runs_its_parts_in_turn_only_if_it_must() -> None:
    def bounded(count: int) -> Workflow:
        group = Step(name="g", action=Group(steps=layered(count, 10).steps), max_parallel=3)
        return Workflow(name="w", steps=(group,))

    told = "the engine keeps that by running one group after the other"
    assert told in stages.plan(bounded(250), engine="argo").log.records[-1].reason
    few = stages.plan(bounded(100), engine="argo", passes=["split{group_steps=50}"])
    assert few.workflow.steps[0] == few.source.steps[0]
    assert "the engine would run one group after the other" in few.log.records[-1].reason


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("count", "width"), [(10_000, 50)])
def test_more_are_put_into_several(count: int, width: int) -> None:
    *definitions, main = objects(count, width)
    assert {made["kind"] for made in definitions} == {"WorkflowTemplate"}
    assert main["kind"] == "Workflow"
    assert len(definitions) > 1
    assert sum(map(check_limits, definitions)) >= count
    check_limits(main)
    if argo_schema.available():
        assert argo_schema.problems(main) == []
        assert argo_schema.problems(definitions[0]) == []


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["chains", "out", "in"])
def test_fans_of_some_thousands_fit(shape: str) -> None:
    def step(name: str, *after: str) -> Step:
        action = Container(image="busybox", command=("true",))
        return Step(name=name, action=action, depends_on=after)

    if shape == "out":
        steps = [step("load"), *(step(f"s{n}", "load") for n in range(6000))]
    elif shape == "in":
        first = [step(f"s{n}") for n in range(9000)]
        steps = [*first, step("join", *(one.name for one in first))]
    else:
        steps = [step(f"s{n}", *([f"s{n - 50}"] if n >= 50 else [])) for n in range(4000)]
    plan = stages.plan(Workflow(name="fan", steps=tuple(steps)), engine="argo")
    made = json.loads(stages.compile(plan, "argo", format="json").to_text())
    found = made["items"] if made["kind"] == "List" else [made]
    assert sum(map(check_limits, found)) >= len(steps)
    for count in re.findall(r"matches '\^\[\w+\]\{(\d+)\}", json.dumps(made)):
        assert int(count) <= 1000


def test_overrides_that_name_other_tasks_are_refused_in_parts() -> None:
    workflow = layered(250, 10)
    task = {"task": {"when": "{{tasks.s0.outputs.result}} == x"}}
    last = workflow.steps[-1].model_copy(update={"engine": freeze_json({"argo": task})})
    changed = workflow.model_copy(update={"steps": (*workflow.steps[:-1], last)})
    with pytest.raises(InvalidWorkflowError) as caught:
        stages.plan(changed, engine="argo")
    assert [problem.code for problem in caught.value.diagnostics] == ["CLR324"]


def test_a_limit_that_no_split_keeps_is_told_with_the_reason() -> None:
    action = Container(image="busybox", command=("true",))
    daemon = Step(name="d", action=action, daemon=True)
    users = tuple(Step(name=f"u{n}", action=action, depends_on=("d",)) for n in range(300))
    told = (
        r'The pass split says: The workflow is not split, as no split fits: the daemon "d" and all '
        r"that wait for it stay in one part: 301 steps, more than one takes\.$"
    )
    with pytest.raises(InvalidWorkflowError, match=told):
        stages.plan(Workflow(name="w", steps=(daemon, *users)), engine="argo")

    inner = tuple(Step(name=f"x{n}", action=action) for n in range(250))
    group = Step(name="g", action=Group(steps=inner))  # this one is split
    with pytest.raises(InvalidWorkflowError, match=told):
        stages.plan(Workflow(name="w", steps=(daemon, *users, group)), engine="argo")


@pytest.mark.parametrize(
    ("budget", "told"),
    [
        ("1KiB", r"CLR541 .* a run takes [0-9,]+ bytes besides its steps, and may take 1,024\."),
        ("17200", r"CLR540 .* over the budget of [0-9,]+\. A run takes [0-9,]+ bytes besides"),
    ],
)
def test_what_a_run_takes_besides_its_steps_is_told(budget: str, told: str) -> None:
    with pytest.raises(InvalidWorkflowError, match=told):
        stages.plan(layered(40, 4), engine="argo", passes=[f"split{{run_bytes={budget}}}"])


@pytest.mark.slow
@pytest.mark.timeout(1800)  # the first use builds Argo's linter
def test_a_thousand_steps_in_runs_of_their_own_are_taken_by_argo(tmp_path: Path) -> None:
    plan = stages.plan(
        layered(1000, 20), engine="argo", passes=["split{group_steps=40, run_steps=260}"]
    )
    made = json.loads(stages.compile(plan, "argo", format="json").to_text())["items"]
    assert [one["kind"] for one in made] == ["WorkflowTemplate"] * 4 + ["Workflow"]
    files = []
    for number, one in enumerate(made):
        check_limits(one)
        if argo_schema.available():
            assert argo_schema.problems(one) == []
        files.append(tmp_path / f"{number}.json")
        files[-1].write_text(json.dumps(one))
    if argo_oracle.lint_available() is None:
        assert [verdict.errors for verdict in argo_oracle.lint(files)] == [()] * 5
