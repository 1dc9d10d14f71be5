"""Parts of a manifest that are moved into runs of their own."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.argo.child_runs import _OF_PARENT, run_name
from tests.support import argo_schema
from tests.support.argo_children import divided, meant, spec_of

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


def test_every_field_of_a_spec_is_the_parents_or_holds_for_children_too() -> None:
    schema = argo_schema.schema("Workflow")["properties"]["spec"]["properties"]
    assert schema.keys() == _OF_PARENT | INHERITED
    assert not _OF_PARENT & INHERITED


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


@pytest.mark.parametrize("length", [1, 30, 31, 200])
def test_names_of_runs_leave_room_for_that_of_the_parent(length: int) -> None:
    assert len(run_name("x" * length)) == min(length, 30)
    assert run_name("x" * 40) != run_name("x" * 41)
