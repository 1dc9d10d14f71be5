"""What Argo would refuse, or read in its own way, is reported with a code."""

from __future__ import annotations

import json

import pytest
import yaml

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.ir.policies import Backoff, Loop, Retry
from couler.ir.values import Compare, Literal, RoundRef
from couler.ir.verify import verify
from couler.ir.workflow import (
    Container,
    Group,
    Parameter,
    Schedule,
    Script,
    Step,
    Workflow,
)

FULL, MINIMAL = Target(profile="argo"), Target(profile="argo-minimal-crd")


def run(name: str, *args: str, **fields: object) -> Step:
    return Step(
        name=name, action=Container(image="busybox", command=("true",), args=args), **fields
    )


def codes(workflow: Workflow, target: Target = FULL) -> list[str]:
    return [diagnostic.code for diagnostic in ArgoBackend().check(workflow, target)]


def of(*steps: Step, **fields: object) -> Workflow:
    return Workflow(name="w", steps=steps, **fields)


def test_a_manifest_in_json_is_yaml_as_well() -> None:
    """The API server reads so what is applied."""
    [made] = ArgoBackend().compile(of(run("a", "\x7f \x85 \u2028 ä")), FULL, format="json").files
    assert yaml.safe_load(made.text) == json.loads(made.text)


TAG = "{{workflow.name}}"


@pytest.mark.parametrize(
    ("workflow", "code"),
    [
        (of(run("a"), parameters=(Parameter(name="p", default=TAG),)), "CLR310"),
        (of(run("a", retry=Retry(limit=1, backoff=Backoff(seconds=1, factor=1.5)))), "CLR311"),
        (
            of(Step(name="a", action=Script(image="r-base", command=("Rscript",), source=TAG))),
            "CLR312",
        ),
    ],
)
def test_each_problem_has_its_code(workflow: Workflow, code: str) -> None:
    assert codes(workflow) == [code]


def test_a_cron_workflow_needs_a_schedule() -> None:
    target = Target(options={"kind": "CronWorkflow"})
    with pytest.raises(EngineOptionError, match='the workflow "w" has no schedule'):
        ArgoBackend().compile(of(run("a")), target)
    with pytest.raises(EngineOptionError, match='the workflow "w" has no schedule'):
        list(ArgoBackend().check(of(run("a")), target))


def test_a_loop_of_many_rounds_fits_into_the_depth() -> None:
    again = Compare(left=RoundRef(), op="==", right=Literal(value="go"))
    loop = run("flip", loop=Loop(condition=again, max_iterations=10_000))
    workflow = of(loop)
    assert not [d for d in verify(workflow) if d.severity == "error"]
    assert codes(workflow) == []


def test_groups_nested_too_deep() -> None:
    step = run("leaf")
    for level in range(100):
        step = Step(name=f"g{level}", action=Group(steps=(step,)))
    assert codes(of(step)) == ["CLR514"]


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"template": {"demon": True}}, 'no field "demon". Did you mean "daemon"?'),
        ({"template": {"retryStrategy": {"limit": [3]}}}, "template.retryStrategy.limit is (3,)"),
        ({"template": {"initContainers": {"name": "a"}}}, "must be a list"),
        ({"task": {"continueOn": {"failed": "yes"}}}, "task.continueOn.failed is 'yes'"),
        ({"tmplate": {}}, 'Did you mean "template"?'),
    ],
)
def test_overrides_of_a_step_are_checked(overrides: object, told: str) -> None:
    [found] = ArgoBackend().check(of(run("a", engine={"argo": overrides})), FULL)
    assert (found.code, found.step) == ("CLR314", "a")
    assert told in found.message


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        ({"spec": {"priority": "5"}}, "engine.argo.spec.priority is '5'"),
        ({"spec": {"podGC": {"strategy": "OnPodComplete"}}}, 'Did you mean "OnPodCompletion"?'),
        ({"spec": {"podGC": {"strategy": "Never"}}}, "must be one of OnPodCompletion, OnPod"),
        ({"cron": {"concurrencyPolicies": "Forbid"}}, 'Did you mean "concurrencyPolicy"?'),
        ({"metadata": {"finalizer": ["a"]}}, 'Did you mean "finalizers"?'),
    ],
)
def test_overrides_of_a_workflow_are_checked(overrides: object, told: str) -> None:
    [found] = ArgoBackend().check(of(run("a"), engine={"argo": overrides}), FULL)
    assert (found.code, found.step) == ("CLR314", None)
    assert told in found.message


@pytest.mark.argo_refuses(reason="the linter knows the fields of one version alone")
@pytest.mark.parametrize("schedule", [None, Schedule(cron=("0 0 * * *",))], ids=["run", "cron"])
def test_fields_that_only_a_later_argo_may_have_are_warned_of(schedule: Schedule | None) -> None:
    of_step = {"template": {"container": {"newInALaterArgo": 1}}}
    step = run("a", engine={"argo": of_step})
    flow = of(step, engine={"argo": {"spec": {"zone": "b"}}}, schedule=schedule)
    found = [*ArgoBackend().check(flow, FULL)]
    assert {(one.code, one.severity, one.step) for one in found} == {
        ("CLR314", "warning", None),
        ("CLR314", "warning", "a"),
    }
    [manifest] = ArgoBackend().compile(flow, FULL).files
    assert "zone: b" in manifest.text
    assert "newInALaterArgo: 1" in manifest.text


@pytest.mark.parametrize(
    "overrides",
    [
        {"template": {"container": {"imagePullPolicy": "{{inputs.parameters.policy}}"}}},
        {"template": {"timeout": None}},
        {"task": {"withSequence": {"count": "{{tasks.b.outputs.result}}"}}},
        {"template": {"container": {"resources": {"limits": {"cpu": 0.5}}}}},
        {"task": {"arguments": {"parameters": [{"name": "a", "value": 1}]}}},
    ],
)
def test_overrides_that_may_be_right_pass(overrides: object) -> None:
    assert codes(of(run("a", engine={"argo": overrides}))) == []
