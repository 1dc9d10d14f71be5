"""Objects as Kubernetes writes them: the descriptions are those of its schemas, and hold."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.verify.objects import (
    AFFINITY,
    CONTAINER_FIELDS,
    CONTAINER_SECURITY,
    LIFECYCLE,
    POD_SECURITY,
    PROBE,
    RESOURCE_CLAIM,
    Choice,
    List,
    Object,
    Shape,
    Whole,
    check_fields,
    check_lifecycle,
    check_patch,
    check_probe,
)
from tests.support import argo_schema

_SPEC = ("spec",)
_TEMPLATE = (*_SPEC, "templates", "[]")
_CONTAINER = (*_TEMPLATE, "container")


def _schema_at(path: tuple[str, ...]) -> dict[str, t.Any]:
    found = argo_schema.schema("Workflow")
    for name in path:
        found = found["items"] if name == "[]" else found["properties"][name]
    return found


def _differences(shape: Shape, schema: dict[str, t.Any], path: str) -> list[str]:
    """Return where a description and a schema say different things."""
    match shape:
        case Object():
            fields = schema["properties"]
            wrong = [f"{path}: {name}" for name in fields.keys() ^ shape.fields.keys()]
            if set(shape.needs) != set(schema.get("required", ())):
                wrong.append(f"{path}: required {schema.get('required')}")
            for name in fields.keys() & shape.fields.keys():
                wrong += _differences(shape.fields[name], fields[name], f"{path}.{name}")
            return wrong
        case List():
            return _differences(shape.of, schema["items"], f"{path}[]")
        case "texts":
            right = schema.get("additionalProperties") == {"type": "string"}
        case "text" | Choice():
            right = schema["type"] == "string"
        case "bool":
            right = schema["type"] == "boolean"
        case "port":
            right = set(schema["type"]) == {"integer", "string"}
        case Whole():
            right = schema["type"] == "integer"
        case _:
            right = False
    return [] if right else [f"{path}: {shape} is {schema['type']}"]


@pytest.mark.parametrize(
    ("shape", "path"),
    [
        (PROBE, (*_CONTAINER, "livenessProbe")),
        (PROBE, (*_CONTAINER, "readinessProbe")),
        (PROBE, (*_CONTAINER, "startupProbe")),
        (LIFECYCLE, (*_CONTAINER, "lifecycle")),
        (CONTAINER_SECURITY, (*_CONTAINER, "securityContext")),
        (POD_SECURITY, (*_SPEC, "securityContext")),
        (POD_SECURITY, (*_TEMPLATE, "securityContext")),
        (AFFINITY, (*_SPEC, "affinity")),
        (AFFINITY, (*_TEMPLATE, "affinity")),
        (RESOURCE_CLAIM, (*_SPEC, "resourceClaims", "[]")),
    ],
)
def test_descriptions_are_those_of_the_schema(shape: Object, path: tuple[str, ...]) -> None:
    assert _differences(shape, _schema_at(path), path[-1]) == []


def test_fields_of_containers_are_those_of_the_schema() -> None:
    assert _schema_at(_CONTAINER)["properties"].keys() == CONTAINER_FIELDS


def _told(check: t.Callable[..., None], *given: t.Any) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    check(*given, lambda code, message: found.append((code, message)))
    return found


@pytest.mark.parametrize(
    ("shape", "given", "code", "message"),
    [
        (PROBE, {"periodSecond": 5}, "CLR441", 'no field "periodSecond". Did you mean "periodS'),
        (PROBE, {"periodSeconds": "5"}, "CLR444", "is '5', but must be a whole number of at least"),
        (PROBE, {"periodSeconds": 0}, "CLR444", "x.periodSeconds is 0, but must be a whole number"),
        (PROBE, {"periodSeconds": True}, "CLR444", "is True, but must be a whole number"),
        (PROBE, {"tcpSocket": {}}, "CLR444", 'x.tcpSocket has no "port". Add it.'),
        (PROBE, {"tcpSocket": {"port": 70000}}, "CLR444", "a port from 1 to 65535, or its name"),
        (PROBE, {"tcpSocket": 80}, "CLR444", "x.tcpSocket is 80, but must be an object"),
        (
            PROBE,
            {"exec": {"command": "ls"}},
            "CLR444",
            "x.exec.command is 'ls', but must be a list",
        ),
        (PROBE, {"exec": {"command": [3]}}, "CLR444", "x.exec.command[0] is 3, but must be a text"),
        (
            PROBE,
            {"httpGet": {"port": 80, "scheme": "https"}},
            "CLR444",
            "x.httpGet.scheme is 'https', but must be one of HTTP, HTTPS.",
        ),
        (
            PROBE,
            {"httpGet": {"port": 80, "httpHeaders": [{"name": "a"}]}},
            "CLR444",
            'x.httpGet.httpHeaders[0] has no "value"',
        ),
        (POD_SECURITY, {"runAsUser": -1}, "CLR444", "a whole number of at least 0"),
        (POD_SECURITY, {"runAsNonRoot": "yes"}, "CLR444", "is 'yes', but must be true or false"),
        (POD_SECURITY, {"supplementalGroups": 3}, "CLR444", "must be a list"),
        (
            POD_SECURITY,
            {"seccompProfile": {"type": "RuntimeDefaults"}},
            "CLR444",
            'Did you mean "RuntimeDefault"?',
        ),
        (CONTAINER_SECURITY, {"capabilities": {"ad": ["NET_ADMIN"]}}, "CLR441", 'mean "add"?'),
        (
            AFFINITY,
            {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}},
            "CLR444",
            'has no "nodeSelectorTerms"',
        ),
        (
            AFFINITY,
            {
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 101, "podAffinityTerm": {"topologyKey": "zone"}}
                    ]
                }
            },
            "CLR444",
            "weight is 101, but must be a whole number from 1 to 100",
        ),
        (
            AFFINITY,
            {
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": 1}}}
                    ]
                }
            },
            "CLR444",
            "labelSelector.matchLabels.a is 1, but must be a text",
        ),
        (RESOURCE_CLAIM, {"resourceClaimName": "gpu"}, "CLR444", 'has no "name"'),
    ],
)
def test_what_fields_hold_is_checked(shape: Object, given: t.Any, code: str, message: str) -> None:
    ((found, text),) = _told(check_fields, given, shape, "x")
    assert found == code
    assert message in text


@pytest.mark.parametrize(
    ("shape", "given"),
    [
        (PROBE, {"httpGet": {"port": "web", "path": "/"}, "periodSeconds": 5}),
        (LIFECYCLE, {"preStop": {"sleep": {"seconds": 0}}, "stopSignal": "SIGUSR1"}),
        (POD_SECURITY, {"runAsUser": 0, "sysctls": [{"name": "a", "value": "1"}]}),
        (CONTAINER_SECURITY, {"capabilities": {"drop": ["ALL"]}, "privileged": False}),
    ],
)
def test_what_is_right_is_let_pass(shape: Object, given: t.Any) -> None:
    assert _told(check_fields, given, shape, "x") == []


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("liveness_probe", {"periodSeconds": 5}, "looks at nothing"),
        (
            "liveness_probe",
            {"tcpSocket": {"port": 80}, "successThreshold": 2},
            "successThreshold must be 1",
        ),
    ],
)
def test_rules_of_probes(kind: str, given: t.Any, message: str) -> None:
    ((code, text),) = _told(check_probe, given, kind)
    assert (code, message in text) == ("CLR440", True)


def test_a_readiness_probe_may_have_to_succeed_often() -> None:
    given = {"tcpSocket": {"port": 80}, "successThreshold": 2}
    assert _told(check_probe, given, "readiness_probe") == []


@pytest.mark.parametrize(
    "handler", [{}, {"exec": {"command": ["a"]}, "sleep": {"seconds": 1}}], ids=["none", "two"]
)
def test_a_handler_does_one_thing(handler: t.Any) -> None:
    ((code, text),) = _told(check_lifecycle, {"preStop": handler})
    assert (code, "exactly one of exec, httpGet, sleep, tcpSocket" in text) == ("CLR440", True)


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"terminationGracePeriod": 3}, "CLR441", 'Did you mean "terminationGracePeriodSeconds"?'),
        ({"terminationGracePeriodSeconds": "3"}, "CLR444", "must be a whole number"),
        ({"hostNetwork": "true"}, "CLR444", "spec_patch.hostNetwork is 'true', but must be true"),
        ({"nodeSelector": ["a"]}, "CLR444", "must be an object"),
        ({"containers": {"name": "main"}}, "CLR444", "spec_patch.containers is"),
        ({"containers": [{"image": "a"}]}, "CLR444", 'containers[0] has no "name", by which'),
        ({"containers": [{"name": "main", "imagePulPolicy": "Always"}]}, "CLR441", "imagePullPo"),
        ({"volumes": ["a"]}, "CLR444", 'volumes[0] has no "name"'),
        ({"securityContext": {"runAsUser": "root"}}, "CLR444", "must be a whole number"),
    ],
)
def test_patches_of_pods_are_checked(patch: t.Any, code: str, message: str) -> None:
    ((found, text),) = _told(check_patch, patch, "spec_patch")
    assert found == code
    assert message in text


@pytest.mark.parametrize(
    "patch",
    [
        {"containers": [{"name": "main", "resources": {"limits": {"cpu": "2"}}}]},
        {"containers": [{"$patch": "replace"}, {"name": "main"}], "$retainKeys": ["containers"]},
        {"hostNetwork": None, "workloadReference": {"name": "a"}},
        {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
    ],
)
def test_patches_that_may_be_right_pass(patch: t.Any) -> None:
    assert _told(check_patch, patch, "spec_patch") == []
