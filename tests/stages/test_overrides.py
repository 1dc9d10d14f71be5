"""Escape hatches: listed in the plan, and reported where no engine takes them."""

from __future__ import annotations

import typing as t

import pytest
from pydantic import ValidationError

import couler
from couler import stages
from couler.backends import backend_names
from couler.ir.policies import SourceRef
from couler.ir.workflow import Container, ExitHandler, Step, Workflow
from tests.dsl.look import box, codes

SHELL = Container(image="busybox:1.36", command=("true",))
DAEMON = {"template": {"daemon": True}}


def step(name: str, line: int | None = None, **fields: t.Any) -> Step:
    source = None if line is None else SourceRef(file="flow.py", line=line)
    return Step(**{"name": name, "action": SHELL, "source": source, **fields})


def misspelled(name: str) -> Workflow:
    return Workflow(name="flow", steps=(step("a"), step("b", line=7, engine={name: DAEMON})))


def test_an_engine_that_is_not_installed_is_reported_with_the_nearest() -> None:
    [found] = stages.diagnose(misspelled("argoo"))
    assert (found.code, found.severity, found.step) == ("CLR302", "warning", "b")
    assert found.source == SourceRef(file="flow.py", line=7)
    assert '"argoo"' in found.message
    assert 'Did you mean "argo"?' in found.message
    assert ", ".join(backend_names()) in found.message


@pytest.mark.parametrize("given", ["x", 3, None, ["a"], True], ids=str)
def test_what_an_engine_is_given_is_an_object(given: object) -> None:
    with pytest.raises(ValidationError):
        step("a", engine={"argo": given})
    with couler.Workflow("w", engine={"argo": given}) as wf:
        box("a", engine={"argo": given})
    assert codes(wf) == ["CLR105", "CLR105"]


@pytest.mark.parametrize("engine", ["argo", "airflow"])
@pytest.mark.parametrize(
    "given", ["x", 3, [3], [], "", 0, None, {"templates": 3}, {"templates": [3]}], ids=str
)
def test_a_part_of_another_shape_is_refused(engine: str, given: object) -> None:
    parts = dict.fromkeys(("template", "task", "spec", "cron", "metadata"), given)
    one = step("a", engine={engine: parts})
    flow = Workflow(name="flow", steps=(one,), engine={engine: parts})
    found = stages.diagnose(flow, [engine])
    assert {one.code for one in found} <= {"CLR314", "CLR377"}
    assert {one.step for one in found} == {None, "a"}


@pytest.mark.parametrize(
    ("overrides", "place"),
    [
        ({"spec": {"templates": None}}, "spec.templates"),
        ({"spec": {"templates": [None]}}, "spec.templates[0]"),
        ({"spec": {"templates": [{}]}}, "spec.templates[0]"),
        ({"spec": {"templates": [{"name": "x", "dag": None}]}}, "spec.templates[0].dag"),
        ({"spec": {"entrypoint": None}}, "spec.entrypoint"),
        ({"spec": {"hooks": {"x": None}}}, "spec.hooks.x"),
        ({"template": {"inputs": None}}, "template.inputs"),
        ({"template": {"inputs": {"parameters": [{}]}}}, "template.inputs.parameters[0]"),
        ({"template": {"name": None}}, "template.name"),
        ({"template": {"memoize": None}}, "template.memoize"),
        ({"task": {"template": None}}, "task.template"),
        ({"task": {"arguments": {"artifacts": [None]}}}, "task.arguments.artifacts[0]"),
        ({"task": {"dependencies": [None]}}, "task.dependencies[0]"),
        ({"task": {"withItems": 3}}, "task.withItems"),
    ],
    ids=str,
)
def test_null_and_half_an_object_are_refused(overrides: dict[str, t.Any], place: str) -> None:
    of_workflow = {"argo": overrides} if "spec" in overrides else {}
    of_step = {} if of_workflow else {"argo": overrides}
    [found] = stages.diagnose(
        Workflow(name="flow", steps=(step("a", engine=of_step),), engine=of_workflow), ["argo"]
    )
    assert (found.code, found.severity) == ("CLR314", "error")
    assert f"engine.argo.{place} " in found.message


@pytest.mark.parametrize(
    "overrides",
    [
        {"template": {"timeout": None}},
        {"template": {"memoize": {"key": "x"}}},
        {"template": {"dag": {}}},
        {"task": {"withItems": [None]}},
        {"task": {"withSequence": {"start": 2}}},
    ],
    ids=str,
)
def test_null_removes_a_value_and_what_is_merged_may_lack_fields(overrides: object) -> None:
    flow = Workflow(name="flow", steps=(step("a", engine={"argo": overrides}),))
    assert stages.diagnose(flow, ["argo"]) == ()


def test_planning_reports_it_too() -> None:
    plan = stages.plan(misspelled("argoo"), engine="argo")
    assert [one.code for one in plan.diagnostics] == ["CLR302"]
    assert "CLR302" in plan.to_text()
    assert plan.to_json()["overrides"] == []


def test_the_workflow_and_exit_handlers_are_looked_at() -> None:
    flow = Workflow(
        name="flow",
        steps=(step("a"),),
        engine={"agro": {}},
        exit_handlers=(
            ExitHandler(name="tell", on="success", steps=(step("mail", engine={"lokal": {}}),)),
        ),
    )
    found = stages.diagnose(flow)
    assert [(one.code, one.step) for one in found] == [
        ("CLR302", None),
        ("CLR302", "exit:tell/mail"),
    ]
    assert all(
        hint in one.message for one, hint in zip(found, ['"argo"?', '"local"?'], strict=True)
    )
