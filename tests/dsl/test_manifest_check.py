"""`validate_workflow_yaml` of the ancestor: what it takes, and what it finds."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable

import pytest

import couler
import couler.argo as argo
from couler import stages
from couler.core.workflow_validation_utils import validate_workflow_yaml
from tests.corpus import cases
from tests.dsl.look import box

Tree = dict[str, t.Any]


def manifest() -> Tree:
    couler.set_dependencies(lambda: box("a"))
    couler.set_dependencies(lambda: box("b"), ["a"])
    return couler.workflow_yaml()


def test_what_couler_makes_is_taken() -> None:
    assert argo.validate_workflow_yaml is validate_workflow_yaml
    tree = manifest()
    validate_workflow_yaml(tree)
    couler.config_workflow(name="nightly", cron_config="0 3 * * *")
    assert couler.workflow_yaml()["kind"] == "CronWorkflow"
    validate_workflow_yaml(couler.workflow_yaml())


def test_every_manifest_of_the_corpus_is_taken() -> None:
    compiled = 0
    for case in cases():
        if stages.diagnose(case.workflow, ["argo"]):
            continue
        text = stages.compile(case.workflow, "argo", format="json").to_text()
        tree = json.loads(text)
        for one in tree["items"] if tree["kind"] == "List" else [tree]:
            validate_workflow_yaml(one)
            compiled += 1
    assert compiled > 50


def _tasks(tree: Tree) -> list[Tree]:
    [main] = [one for one in tree["spec"]["templates"] if "dag" in one]
    return t.cast("list[Tree]", main["dag"]["tasks"])


def _steps(tree: Tree, groups: object) -> None:
    tree["spec"]["templates"].append({"name": "more", "steps": groups})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda tree: tree.update(kind="Job"), "is of no kind of Argo's"),
        (lambda tree: tree.pop("spec"), "it has no templates; its entrypoint is None"),
        (
            lambda tree: tree["spec"].update(entrypoint="mian"),
            "its entrypoint is 'mian', which is not there. Did you mean \"main\"?",
        ),
        (lambda tree: _tasks(tree).clear(), 'the template "main" has no steps'),
        (lambda tree: _tasks(tree)[0].pop("template"), 'the template of step "a" of "main"'),
        (lambda tree: _steps(tree, []), 'the template "more" has no steps'),
        (lambda tree: _steps(tree, [[{"name": "x", "template": "y"}]]), "is 'y'"),
    ],
)
def test_what_does_not_hang_together_is_found(change: Callable[[Tree], object], told: str) -> None:
    tree = manifest()
    validate_workflow_yaml(tree)
    change(tree)
    with pytest.raises(couler.DefinitionError, match="CLR142") as caught:
        validate_workflow_yaml(tree)
    assert told in str(caught.value)


@pytest.mark.parametrize("given", [None, "kind: Workflow", []])
def test_something_else_is_no_manifest(given: object) -> None:
    with pytest.raises(couler.DefinitionError, match="is of no kind"):
        validate_workflow_yaml(given)


def test_what_argo_has_elsewhere_is_not_missed() -> None:
    tree = manifest()
    _tasks(tree)[0]["templateRef"] = {"name": "other", "template": "t"}
    del _tasks(tree)[0]["template"]
    validate_workflow_yaml(tree)
    tree["spec"] = {"workflowTemplateRef": {"name": "other"}}
    validate_workflow_yaml(tree)
