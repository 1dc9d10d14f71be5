"""Rules for objects that are written as Kubernetes writes them: their fields and values."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.names import Add


@dataclass(frozen=True, slots=True)
class Object:
    """An object: what each of its fields holds, and which of them it needs."""

    fields: Mapping[str, Shape]
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class List:
    """A list of things of a shape."""

    of: Shape


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number within bounds."""

    lowest: int = 0
    highest: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words."""

    words: tuple[str, ...]


Shape: t.TypeAlias = (
    Object | List | Whole | Choice | t.Literal["text", "bool", "port", "texts", "any"]
)
"""What a field holds; `port` is a number or the name of a port, `texts` are texts by name."""


def _texts(*names: str) -> dict[str, Shape]:
    return dict.fromkeys(names, "text")


_HEADER = Object(_texts("name", "value"), needs=("name", "value"))
_HTTP_GET = Object(
    {
        "host": "text",
        "httpHeaders": List(_HEADER),
        "path": "text",
        "port": "port",
        "scheme": Choice(("HTTP", "HTTPS")),
    },
    needs=("port",),
)
_TCP = Object({"host": "text", "port": "port"}, needs=("port",))
_EXEC = Object({"command": List("text")})
_CHECKS: dict[str, Shape] = {
    "exec": _EXEC,
    "grpc": Object({"port": Whole(1, 65535), "service": "text"}, needs=("port",)),
    "httpGet": _HTTP_GET,
    "tcpSocket": _TCP,
}
PROBE = Object(
    {
        **_CHECKS,
        "failureThreshold": Whole(1),
        "initialDelaySeconds": Whole(),
        "periodSeconds": Whole(1),
        "successThreshold": Whole(1),
        "terminationGracePeriodSeconds": Whole(1),
        "timeoutSeconds": Whole(1),
    }
)
_HANDLER = Object(
    {
        "exec": _EXEC,
        "httpGet": _HTTP_GET,
        "sleep": Object({"seconds": Whole()}, needs=("seconds",)),
        "tcpSocket": _TCP,
    }
)
LIFECYCLE = Object({"postStart": _HANDLER, "preStop": _HANDLER, "stopSignal": "text"})
_PROFILE = Object(
    {"localhostProfile": "text", "type": Choice(("RuntimeDefault", "Unconfined", "Localhost"))},
    needs=("type",),
)
_SECURITY: dict[str, Shape] = {
    "appArmorProfile": _PROFILE,
    "runAsGroup": Whole(),
    "runAsNonRoot": "bool",
    "runAsUser": Whole(),
    "seLinuxOptions": Object(_texts("level", "role", "type", "user")),
    "seccompProfile": _PROFILE,
    "windowsOptions": Object(
        {
            **_texts("gmsaCredentialSpec", "gmsaCredentialSpecName", "runAsUserName"),
            "hostProcess": "bool",
        }
    ),
}
CONTAINER_SECURITY = Object(
    {
        **_SECURITY,
        "allowPrivilegeEscalation": "bool",
        "capabilities": Object({"add": List("text"), "drop": List("text")}),
        "privileged": "bool",
        "procMount": Choice(("Default", "Unmasked")),
        "readOnlyRootFilesystem": "bool",
    }
)
POD_SECURITY = Object(
    {
        **_SECURITY,
        "fsGroup": Whole(),
        "fsGroupChangePolicy": Choice(("OnRootMismatch", "Always")),
        "seLinuxChangePolicy": Choice(("MountOption", "Recursive")),
        "supplementalGroups": List(Whole()),
        "supplementalGroupsPolicy": Choice(("Merge", "Strict")),
        "sysctls": List(_HEADER),
    }
)
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist")


def _expressions(*operators: str) -> Shape:
    fields: dict[str, Shape] = {
        "key": "text",
        "operator": Choice(operators),
        "values": List("text"),
    }
    return List(Object(fields, needs=("key", "operator")))


_NODE_TERM = Object(
    dict.fromkeys(("matchExpressions", "matchFields"), _expressions(*_OPERATORS, "Gt", "Lt"))
)
_SELECTOR = Object({"matchExpressions": _expressions(*_OPERATORS), "matchLabels": "texts"})
_POD_TERM = Object(
    {
        "labelSelector": _SELECTOR,
        "matchLabelKeys": List("text"),
        "mismatchLabelKeys": List("text"),
        "namespaceSelector": _SELECTOR,
        "namespaces": List("text"),
        "topologyKey": "text",
    },
    needs=("topologyKey",),
)


def _weighted(name: str, term: Object) -> Shape:
    fields: dict[str, Shape] = {name: term, "weight": Whole(1, 100)}
    return List(Object(fields, needs=(name, "weight")))


_NODE_AFFINITY = Object(
    {
        _PREFERRED: _weighted("preference", _NODE_TERM),
        _REQUIRED: Object(
            {"nodeSelectorTerms": List(_NODE_TERM)},
            needs=("nodeSelectorTerms",),
        ),
    }
)
_POD_AFFINITY = Object(
    {_PREFERRED: _weighted("podAffinityTerm", _POD_TERM), _REQUIRED: List(_POD_TERM)}
)
AFFINITY = Object(
    {
        "nodeAffinity": _NODE_AFFINITY,
        "podAffinity": _POD_AFFINITY,
        "podAntiAffinity": _POD_AFFINITY,
    }
)
RESOURCE_CLAIM = Object(
    _texts("name", "resourceClaimName", "resourceClaimTemplateName"), needs=("name",)
)


CONTAINER_FIELDS = frozenset(
    (
        *("args", "command", "env", "envFrom", "image", "imagePullPolicy", "lifecycle"),
        *("livenessProbe", "name", "ports", "readinessProbe", "resizePolicy", "resources"),
        *("restartPolicy", "restartPolicyRules", "securityContext", "startupProbe", "stdin"),
        *("stdinOnce", "terminationMessagePath", "terminationMessagePolicy", "tty"),
        *("volumeDevices", "volumeMounts", "workingDir"),
    )
)
_POD_FIELDS: dict[str, Shape] = {
    **_texts("dnsPolicy", "hostname", "hostnameOverride", "nodeName", "preemptionPolicy"),
    **_texts("priorityClassName", "restartPolicy", "runtimeClassName", "schedulerName"),
    **_texts("serviceAccount", "serviceAccountName", "subdomain"),
    **dict.fromkeys(
        (
            *("automountServiceAccountToken", "enableServiceLinks", "hostIPC", "hostNetwork"),
            *("hostPID", "hostUsers", "setHostnameAsFQDN", "shareProcessNamespace"),
        ),
        "bool",
    ),
    **dict.fromkeys(("activeDeadlineSeconds", "terminationGracePeriodSeconds"), Whole()),
    **dict.fromkeys(
        (
            *("containers", "ephemeralContainers", "hostAliases", "imagePullSecrets"),
            *("initContainers", "readinessGates", "resourceClaims", "schedulingGates"),
            *("tolerations", "topologySpreadConstraints", "volumes"),
        ),
        List("any"),
    ),
    **dict.fromkeys(("dnsConfig", "os", "overhead", "priority", "resources"), "any"),
    "affinity": AFFINITY,
    "nodeSelector": "texts",
    "securityContext": POD_SECURITY,
}
_NAMED = ("containers", "initContainers", "ephemeralContainers", "volumes")
"""Fields of a pod whose entries a patch finds by their names."""


def check_patch(given: Mapping[str, t.Any], what: str, add: Add) -> None:
    """Check a patch of the specification of a pod."""
    for name, value in given.items():
        shape = _POD_FIELDS.get(name)
        if shape is None:
            _tell_of_near(name, _POD_FIELDS, what, add)
        elif value is not None:  # null removes a field
            check_fields(value, shape, f"{what}.{name}", add)
    for name in _NAMED:
        entries = given.get(name)
        for index, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
            place = f"{what}.{name}[{index}]"
            if not isinstance(entry, Mapping) or ("name" not in entry and "$patch" not in entry):
                add("CLR444", f'{place} has no "name", by which the patch finds it. Add it.')
            elif name != "volumes":
                for field in entry.keys() - CONTAINER_FIELDS:
                    _tell_of_near(field, CONTAINER_FIELDS, place, add)


def _tell_of_near(name: str, known: Iterable[str], what: str, add: Add) -> None:
    hint = did_you_mean(name, known)
    if hint and not name.startswith("$"):
        add("CLR441", f'{what}: there is no field "{name}".{hint}')


def check_fields(given: object, shape: Shape, what: str, add: Add) -> None:
    """Check that an object of Kubernetes has its fields, and in them what they hold."""
    match shape:
        case Object():
            _check_object(given, shape, what, add)
        case List():
            if not isinstance(given, list | tuple):
                _refuse(given, what, "a list", add)
                return
            for index, one in enumerate(given):
                check_fields(one, shape.of, f"{what}[{index}]", add)
        case Choice():
            if given not in shape.words:
                hint = did_you_mean(given, shape.words) if isinstance(given, str) else ""
                _refuse(given, what, f"one of {', '.join(shape.words)}", add, hint)
        case "texts":
            if not isinstance(given, Mapping):
                _refuse(given, what, "an object", add)
                return
            for name, one in given.items():
                check_fields(one, "text", f"{what}.{name}", add)
        case _:
            wanted = _wanted(given, shape)
            if wanted is not None:
                _refuse(given, what, wanted, add)


def _check_object(given: object, shape: Object, what: str, add: Add) -> None:
    if not isinstance(given, Mapping):
        _refuse(given, what, "an object", add)
        return
    misspelt = ""
    for name, value in given.items():
        known = shape.fields.get(name)
        if known is None:
            hint = did_you_mean(str(name), shape.fields)
            misspelt += hint
            add("CLR441", f'{what}: there is no field "{name}".{hint}')
        else:
            check_fields(value, known, f"{what}.{name}", add)
    for name in shape.needs:
        if name not in given and f'"{name}"' not in misspelt:
            add("CLR444", f'{what} has no "{name}". Add it.')


def _refuse(given: object, what: str, wanted: str, add: Add, hint: str = "") -> None:
    add("CLR444", f"{what} is {given!r:.60}, but must be {wanted}.{hint}")


def _wanted(given: object, shape: Shape) -> str | None:
    """Return what a field holds, if what it is given is something else."""
    match shape:
        case "text":
            return None if isinstance(given, str) else "a text"
        case "bool":
            return None if isinstance(given, bool) else "true or false"
        case "port":
            if isinstance(given, str):
                return None
            return _wanted(given, Whole(1, 65535)) and "a port from 1 to 65535, or its name"
        case Whole():
            highest = shape.highest
            if (
                isinstance(given, int)
                and not isinstance(given, bool)
                and shape.lowest <= given
                and (highest is None or given <= highest)
            ):
                return None
            if highest is None:
                return f"a whole number of at least {shape.lowest}"
            return f"a whole number from {shape.lowest} to {highest}"
    return None


def check_probe(given: Mapping[str, t.Any], what: str, add: Add) -> None:
    """Check that a probe has known fields, and looks at one thing."""
    if not given:
        return
    check_fields(given, PROBE, what, add)
    checks = [name for name in _CHECKS if name in given]
    if len(checks) != 1:
        has = f"has {' and '.join(checks)}" if checks else "looks at nothing"
        names = ", ".join(_CHECKS)
        add("CLR440", f"{what} {has}. Give it exactly one of {names}.")
    if what != "readiness_probe" and given.get("successThreshold", 1) != 1:
        add("CLR440", f"{what}.successThreshold must be 1; only readiness_probe takes more.")


def check_lifecycle(given: Mapping[str, t.Any], add: Add) -> None:
    """Check that what is done at the start and the end of a container is one thing each."""
    check_fields(given, LIFECYCLE, "lifecycle", add)
    for name in ("postStart", "preStop"):
        handler = given.get(name)
        if isinstance(handler, Mapping) and len(handler) != 1:
            names = ", ".join(_HANDLER.fields)
            add("CLR440", f"lifecycle.{name} must have exactly one of {names}.")
