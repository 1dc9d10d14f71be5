"""Objects as Kubernetes writes them: what it would refuse in them is reported with its place."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.pods import ContainerSettings, PodSettings, StepPod
from tests.support.sample_flows import echo, flow
from tests.support.verification import codes, only

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


@pytest.mark.parametrize(
    ("field", "given", "code", "told"),
    [
        ("liveness_probe", {"tcpSocket": {}}, "CLR444", ["liveness_probe.tcpSocket", '"port"']),
        (
            "startup_probe",
            {"exec": {"command": [3]}},
            "CLR444",
            ["startup_probe.exec.command[0] is 3"],
        ),
        (
            "readiness_probe",
            {"httpGet": {"port": 80, "httpHeaders": [{"name": "a"}]}},
            "CLR444",
            ["readiness_probe.httpGet.httpHeaders[0]", '"value"'],
        ),
        (
            "readiness_probe",
            {"httpGet": {"port": 80, "scheme": "https"}},
            "CLR444",
            ["readiness_probe.httpGet.scheme is 'https'", "HTTP, HTTPS"],
        ),
        (
            "liveness_probe",
            {"exec": {}, "periodSecond": 5},
            "CLR441",
            ['"periodSecond"', 'Did you mean "periodSeconds"?'],
        ),
        ("liveness_probe", {"exec": {}, "periodSeconds": 0}, "CLR444", ["periodSeconds is 0"]),
        ("liveness_probe", {"exec": {}, "periodSeconds": True}, "CLR444", ["is True"]),
        ("liveness_probe", {"exec": {}, "successThreshold": 2}, "CLR440", ["successThreshold"]),
        ("liveness_probe", {"tcpSocket": {"port": 70000}}, "CLR444", ["65535"]),
        ("liveness_probe", {"periodSeconds": 5}, "CLR440", ["exactly one of", "tcpSocket"]),
        ("lifecycle", {"preStop": {}}, "CLR440", ["lifecycle.preStop", "exactly one of"]),
        (
            "security_context",
            {"capabilities": {"ad": ["NET_ADMIN"]}},
            "CLR441",
            ["security_context.capabilities", 'Did you mean "add"?'],
        ),
        (
            "security_context",
            {"seccompProfile": {"type": "RuntimeDefaults"}},
            "CLR444",
            ["security_context.seccompProfile.type", 'Did you mean "RuntimeDefault"?'],
        ),
    ],
)
def test_what_is_wrong_in_a_container_is_reported_with_its_place(
    field: str, given: t.Any, code: str, told: list[str]
) -> None:
    found = only(flow(echo("a", container=ContainerSettings(**{field: given}))))
    assert found.code == code
    assert all(words in found.message for words in told), found.message


@pytest.mark.parametrize(
    ("field", "given", "code", "told"),
    [
        ("security_context", {"runAsUser": -1}, "CLR444", ["security_context.runAsUser is -1"]),
        ("security_context", {"runAsNonRoot": "yes"}, "CLR444", ["runAsNonRoot is 'yes'"]),
        ("security_context", {"supplementalGroups": 3}, "CLR444", ["supplementalGroups is 3"]),
        ("affinity", {"nodeAffinity": {_REQUIRED: {}}}, "CLR444", ['"nodeSelectorTerms"']),
        (
            "affinity",
            {
                "podAffinity": {
                    _PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}]
                }
            },
            "CLR444",
            [f"affinity.podAffinity.{_PREFERRED}[0].weight is 101"],
        ),
        (
            "affinity",
            {
                "podAntiAffinity": {
                    _REQUIRED: [{"topologyKey": "z", "labelSelector": {"matchLabels": {"a": 1}}}]
                }
            },
            "CLR444",
            ["labelSelector.matchLabels.a is 1"],
        ),
        (
            "resource_claims",
            ({"resourceClaimName": "gpu"},),
            "CLR444",
            ["resource_claims[0]", '"name"'],
        ),
        (
            "spec_patch",
            {"terminationGracePeriod": 3},
            "CLR441",
            ['Did you mean "terminationGracePeriodSeconds"?'],
        ),
        ("spec_patch", {"hostNetwork": "true"}, "CLR444", ["spec_patch.hostNetwork is 'true'"]),
        ("spec_patch", {"nodeSelector": ["a"]}, "CLR444", ["spec_patch.nodeSelector"]),
        ("spec_patch", {"containers": {"name": "main"}}, "CLR444", ["spec_patch.containers"]),
        ("spec_patch", {"containers": [{"image": "a"}]}, "CLR444", ["containers[0]", '"name"']),
        (
            "spec_patch",
            {"containers": [{"name": "main", "imagePulPolicy": "Always"}]},
            "CLR441",
            ["spec_patch.containers[0]", 'Did you mean "imagePullPolicy"?'],
        ),
        ("spec_patch", {"volumes": ["a"]}, "CLR444", ["spec_patch.volumes[0]"]),
        ("spec_patch", {"tolerations": [None]}, "CLR444", ["spec_patch.tolerations[0] is None"]),
        (
            "spec_patch",
            {"containers": [{"name": "main", "env": [{}]}]},
            "CLR444",
            ["containers[0].env[0]", '"name"'],
        ),
    ],
)
def test_what_is_wrong_in_pods_is_reported_with_its_place(
    field: str, given: t.Any, code: str, told: list[str]
) -> None:
    found = only(flow(echo("a"), pod=PodSettings(**{field: given})))
    assert found.code == code
    assert all(words in found.message for words in told), found.message


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("liveness_probe", {"httpGet": {"port": "web", "path": "/"}, "periodSeconds": 5}),
        ("readiness_probe", {"tcpSocket": {"port": 80}, "successThreshold": 2}),
        ("lifecycle", {"preStop": {"sleep": {"seconds": 0}}, "stopSignal": "SIGUSR1"}),
        ("security_context", {"capabilities": {"drop": ["ALL"]}, "privileged": False}),
    ],
)
def test_what_is_right_in_a_container_passes(field: str, given: t.Any) -> None:
    assert codes(flow(echo("a", container=ContainerSettings(**{field: given})))) == []


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("security_context", {"runAsUser": 0, "sysctls": [{"name": "a", "value": "1"}]}),
        (
            "spec_patch",
            {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]},
        ),
        (  # quantities as numbers
            "spec_patch",
            {
                "containers": [{"name": "main", "resources": {"limits": {"cpu": 0.5}}}],
                "overhead": {"cpu": 0.5},
                "volumes": [{"name": "a", "emptyDir": {"sizeLimit": 1.5}}],
            },
        ),
        (
            "spec_patch",
            {
                "containers": [{"$patch": "replace"}, {"name": "main"}],
                "$retainKeys": ["containers"],
            },
        ),
        ("spec_patch", {"hostNetwork": None, "affinity": None, "nodeSelector": {"a": None}}),
        ("spec_patch", {"tolerations": [{"key": "gpu", "operator": "Exists"}]}),
    ],
)
def test_what_may_be_right_in_pods_passes(field: str, given: t.Any) -> None:
    assert codes(flow(echo("a"), pod=PodSettings(**{field: given}))) == []


def test_a_field_that_only_a_later_kubernetes_may_have_is_warned_of() -> None:
    patch: t.Any = {"workloadReference": {"name": "a"}}
    for one in (
        flow(echo("a"), pod=PodSettings(spec_patch=patch)),
        flow(echo("a", pod=StepPod(spec_patch=patch))),
    ):
        found = only(one)
        assert (found.code, found.severity) == ("CLR441", "warning")
        assert '"workloadReference"' in found.message
