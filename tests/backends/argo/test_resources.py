"""Manifests of resources as Argo is given them: which values are tags, and how they are written."""

from __future__ import annotations

import re
import typing as t

import pytest
import yaml

import couler
from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.values import Literal, ManifestValue
from couler.ir.workflow import Job, Step, Workflow
from tests.support.mills import argo, kubelet

HEAD = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "train-"}}


def templates(workflow: couler.Workflow) -> dict[str, t.Any]:
    tree = yaml.safe_load(workflow.compile("argo").to_text())
    return {one["name"]: one for one in tree["spec"]["templates"]}


def manifest(template: dict[str, t.Any]) -> dict[str, t.Any]:
    """The manifest with the number of its parameter for each tag."""
    text = re.sub(r"\{\{=.*?value_(\d+).*\}\}", r"value \1", template["resource"]["manifest"])
    found: dict[str, t.Any] = yaml.safe_load(text)
    return found


def test_a_value_that_is_known_is_written_out() -> None:
    given = (
        ManifestValue(path=("spec", "a"), value=Literal(value="$(x) 'y'")),
        ManifestValue(path=("spec", "b"), value=Literal(value=(1, None, "$$")), type="list"),
        ManifestValue(path=("spec", "c"), value=Literal(value="text"), type="json"),
    )
    job = Job(manifest={**HEAD, "spec": {"a": None, "b": None, "c": None}}, values=given)
    artifact = ArgoBackend().compile(
        Workflow(name="w", steps=(Step(name="train", action=job),)), Target()
    )
    [train] = [
        one
        for one in yaml.safe_load(artifact.to_text())["spec"]["templates"]
        if one["name"] == "train"
    ]
    assert manifest(train)["spec"] == {"a": "$$(x) 'y'", "b": [1, None, "$$$"], "c": "text"}


def test_items_and_values_from_outside_reach_a_manifest_in_a_map() -> None:
    with couler.Workflow("w") as wf:
        base = couler.run_container("busybox", ["echo"], step_name="base")

        def train(rate: t.Any) -> t.Any:
            return couler.run_job({**HEAD, "spec": {"rate": rate, "base": base}}, step_name="train")

        couler.map(train, [0.1, 0.2])
    found = templates(wf)
    [_, task] = found["main"]["dag"]["tasks"]
    assert task["withItems"] == ["0.1", "0.2"]
    assert task["depends"] == "base"
    assert manifest(found["train"])["spec"] == {"rate": "value 0", "base": "value 1"}


def test_text_that_looks_like_a_mark_stays() -> None:
    with couler.Workflow("w", n=2) as wf:
        couler.run_job(
            {**HEAD, "spec": {"a": "couler-value-0-", "b": "couler-value--0-", "n": wf.params.n}},
            step_name="train",
        )
    spec = manifest(templates(wf)["train"])["spec"]
    assert spec == {"a": "couler-value-0-", "b": "couler-value--0-", "n": "value 0"}


@pytest.mark.parametrize("own", [True, False])
def test_control_characters_that_argo_loses_are_refused(own: bool) -> None:
    with couler.Workflow("w") as wf:
        couler.run_job({**HEAD, "spec": "a\x85"}, set_owner_reference=own, step_name="train")
    found = [one.code for one in ArgoBackend().check(wf.to_ir(), Target())]
    assert found == (["CLR318"] if own else [])


@pytest.mark.parametrize("text", ["{{workflow.name}}", "a\n{{=1}}: 'b' \\ \" $(X) $$ \x85 {{ open"])
def test_tags_in_a_manifest_are_text(text: str) -> None:
    tree = {**HEAD, "spec": {"text": text, "list": ["plain {{x}}", text], "couler-value-0-": "x"}}
    job = Job(
        manifest=tree | {"value": None},
        values=(ManifestValue(path=("value",), value=Literal(value=text)),),
    )
    workflow = Workflow(name="w", steps=(Step(name="a", action=job),))
    assert list(ArgoBackend().check(workflow, Target())) == []
    made = ArgoBackend().compile(workflow, Target()).to_text()
    [template] = [one for one in yaml.safe_load(made)["spec"]["templates"] if "resource" in one]
    arrived = kubelet(argo(template["resource"]["manifest"]), {})
    assert yaml.safe_load(arrived) == {**tree, "value": text}


@pytest.mark.parametrize(
    ("manifest", "own"), [({"data": {"{{item}}": "x"}}, False), ({"data": "{{item}}"}, True)]
)
def test_a_tag_that_cannot_be_protected_in_a_manifest_is_refused(
    manifest: dict[str, t.Any], own: bool
) -> None:
    job = Job(manifest={**HEAD, **manifest}, set_owner_reference=own)
    workflow = Workflow(name="w", steps=(Step(name="a", action=job),))
    [problem] = ArgoBackend().check(workflow, Target())
    assert problem.code == "CLR310"
    assert 'resource.manifest of step "a" holds ' in problem.message
    assert ("set_owner_reference=False" in problem.message) is own
