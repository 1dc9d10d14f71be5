"""Parts of a manifest that are moved into runs of their own."""

from __future__ import annotations

import json
import re
import typing as t

import pytest
import yaml

from couler.backends.argo.child_runs import _OF_PARENT, RunPart, divide, run_name
from couler.backends.argo.tags import foreign_tags
from couler.ir.kubelet import needs_dollars
from tests.support import argo_schema
from tests.support.argo_children import HEAD, divided, meant, spec_of

SPEC = """
  entrypoint: main
  arguments: {parameters: [{name: who, value: x}]}
  serviceAccountName: runner
  parallelism: 3
  templates:
  - name: main
    dag:
      tasks:
      - {name: p1, template: couler-part-1}
      - {name: p2, template: couler-part-2, depends: p1}
      - {name: here, template: say, arguments: {parameters: [{name: text, value: x}]}}
  - name: couler-part-1
    outputs: {parameters: [{name: s, valueFrom: {expression: tasks.only.status}}]}
    dag: {tasks: [{name: only, template: only-1}, {name: again, template: say}]}
  - name: couler-part-2
    inputs: {parameters: [{name: v1, value: "{{workflow.parameters.who}}/{{workflow.name}}"}]}
    dag: {tasks: [{name: only, template: say, hooks: {exit: {template: hooked}}}]}
  - {name: only-1, steps: [[{name: a, inline: {steps: [[{name: b, template: say}]]}}]]}
  - {name: hooked, suspend: {}}
  - {name: unused, suspend: {}}
"""

INHERITED = {
    "activeDeadlineSeconds",
    "affinity",
    "archiveLogs",
    "artifactGC",
    "artifactRepositoryRef",
    "automountServiceAccountToken",
    "dnsConfig",
    "dnsPolicy",
    "executor",
    "executorPlugins",
    "hostAliases",
    "hostNetwork",
    "imagePullSecrets",
    "nodeSelector",
    "parallelism",
    "podDisruptionBudget",
    "podGC",
    "podMetadata",
    "podPriorityClassName",
    "podResources",
    "podSpecPatch",
    "priority",
    "resourceClaims",
    "retryStrategy",
    "schedulerName",
    "securityContext",
    "serviceAccountName",
    "templateDefaults",
    "tolerations",
    "volumes",
    "workflowMetadata",
}


def names(spec: dict[str, t.Any]) -> list[str]:
    return [template["name"] for template in spec["templates"]]


def test_each_part_takes_its_templates_and_leaves_those_of_others() -> None:
    found = divided(spec_of(SPEC), "1", "2")
    first, second = found.definitions
    head = ["couler-run", "couler-run-body"]
    assert names(first["spec"]) == [*head, "couler-part-1", "only-1", "say"]
    assert names(second["spec"]) == [*head, "couler-part-2", "hooked", "say"]
    parent = ["main", "couler-part-1", "couler-part-2", "say", "couler-on-exit", "couler-stop"]
    assert names(found.spec) == parent
    assert divided(spec_of(SPEC)).spec == spec_of(SPEC)


def test_the_cluster_takes_parent_and_children() -> None:
    found = divided(spec_of(SPEC), "1", "2")
    workflow = {**HEAD, "metadata": {"generateName": "w-"}, "spec": found.spec}
    for tree in (workflow, *found.definitions):
        assert argo_schema.problems(tree) == []
        assert list(foreign_tags(tree)) == []


def test_every_field_of_a_spec_is_the_parents_or_holds_for_children_too() -> None:
    schema = argo_schema.schema("Workflow")["properties"]["spec"]["properties"]
    assert schema.keys() == _OF_PARENT | INHERITED
    assert not _OF_PARENT & INHERITED


def test_a_child_is_told_what_its_templates_read_of_the_run() -> None:
    [_, child] = divided(spec_of(SPEC), "1", "2").definitions
    given = [one["name"] for one in child["spec"]["arguments"]["parameters"]]
    assert given == ["who", "couler-run-name", "couler-in-v1"]
    [part] = [one for one in child["spec"]["templates"] if one["name"] == "couler-part-2"]
    [value] = part["inputs"]["parameters"]
    expected = "{{workflow.parameters.who}}/{{workflow.parameters.couler-run-name}}"
    assert value["value"] == expected
    assert child["spec"]["serviceAccountName"] == "runner"


def test_parameters_of_the_user_keep_their_names() -> None:
    text = SPEC.replace("name: who, value: x", "name: couler-run-name, value: x")
    [_, child] = divided(spec_of(text.replace(".who", ".couler-run-name")), "1", "2").definitions
    given = [one["name"] for one in child["spec"]["arguments"]["parameters"]]
    assert given == ["couler-run-name", "couler-run-name-2", "couler-in-v1"]


def test_claims_are_made_once() -> None:
    claim = {"metadata": {"name": "scratch"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    shared = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    spec = {**spec_of(SPEC), "volumeClaimTemplates": [meant(claim)], "volumes": [meant(shared)]}
    found = divided(spec, "1", "2")
    assert found.spec["volumeClaimTemplates"] == [claim]
    for child in found.definitions:
        assert "volumeClaimTemplates" not in child["spec"]
        mounted = "{{workflow.parameters.couler-run-name}}-scratch"
        assert child["spec"]["volumes"] == [
            shared,
            {"name": "scratch", "persistentVolumeClaim": {"claimName": mounted}},
        ]


def test_names_of_definitions_tell_versions_apart() -> None:
    before, same = (divided(spec_of(SPEC), "1", "2").definitions for _ in range(2))
    changed = divided(spec_of(SPEC.replace("runner", "other")), "1", "2").definitions
    assert before == same
    found = {one["metadata"]["name"] for one in (*before, *changed)}
    assert len(found) == 4
    long = divided(spec_of(SPEC), "1", "2", name="w" * 60).definitions
    for one in (*before, *long):
        assert re.fullmatch("[a-z0-9][-a-z0-9]{,61}[a-z0-9]", one["metadata"]["name"])


@pytest.mark.parametrize("length", [1, 30, 31, 200])
def test_names_of_runs_leave_room_for_that_of_the_parent(length: int) -> None:
    assert len(run_name("x" * length)) == min(length, 30)
    assert run_name("x" * 40) != run_name("x" * 41)


def test_the_manifest_of_a_child_is_safe_from_the_kubelet_and_owned_by_the_parent() -> None:
    found = divided(spec_of(SPEC), "1", "2")
    [caller] = [one for one in found.spec["templates"] if one["name"] == "couler-part-2"]
    manifest = caller["resource"]["manifest"]
    assert not needs_dollars(manifest)
    child = yaml.safe_load(re.sub(r'"?\{\{.*?\}\}"?', "x", manifest))
    assert child["spec"]["workflowTemplateRef"]["name"] == found.definitions[1]["metadata"]["name"]
    given = [one["name"] for one in found.definitions[1]["spec"]["arguments"]["parameters"]]
    assert [one["name"] for one in child["spec"]["arguments"]["parameters"]] == given
    assert child["metadata"]["labels"]["couler/part"] == "2"
    assert child["metadata"]["ownerReferences"][0]["kind"] == "Workflow"


def test_exit_handlers_of_the_user_stay() -> None:
    text = SPEC.replace("entrypoint: main", "entrypoint: main\n  onExit: bye") + (
        "  - {name: bye, dag: {failFast: false, tasks: [{name: mine, template: hooked}]}}\n"
    )
    found = divided(spec_of(text), "1", "2")
    [bye] = [one for one in found.spec["templates"] if one["name"] == "bye"]
    assert [one["name"] for one in bye["dag"]["tasks"]] == [
        "mine",
        "couler-stop-1",
        "couler-stop-2",
    ]
    assert "onExit" not in json.dumps(found.definitions)


def test_a_verdict_ends_the_run_of_a_part() -> None:
    text = SPEC + "  - {name: verdict, inputs: {parameters: [{name: end}]}, suspend: {}}\n"
    part = RunPart("couler-part-1", "1", ("verdict", "end", "s"))
    [child] = divide(spec_of(text), [part], name="w").definitions
    entry = child["spec"]["templates"][0]
    assert entry["steps"][1][0]["arguments"]["parameters"] == [
        {"name": "end", "value": "{{steps.run.outputs.parameters.s}}"}
    ]
    assert "verdict" in names(child["spec"])
