"""Rules for objects that are written as Kubernetes writes them: fields that it does not know."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping

from couler.ir.diagnostics import did_you_mean
from couler.ir.verify.names import Add

Fields: t.TypeAlias = Mapping[str, "Fields | None"]
"""Names of the fields of an object, with those of an object inside; None for anything."""


def _any(*names: str) -> Fields:
    return dict.fromkeys(names)


_HTTP_GET = _any("host", "httpHeaders", "path", "port", "scheme")
_TCP = _any("host", "port")
_CHECKS: Fields = {
    "exec": _any("command"),
    "grpc": _any("port", "service"),
    "httpGet": _HTTP_GET,
    "tcpSocket": _TCP,
}
PROBE: Fields = {
    **_CHECKS,
    **_any(
        "failureThreshold",
        "initialDelaySeconds",
        "periodSeconds",
        "successThreshold",
        "terminationGracePeriodSeconds",
        "timeoutSeconds",
    ),
}
_HANDLER: Fields = {
    "exec": _any("command"),
    "httpGet": _HTTP_GET,
    "sleep": _any("seconds"),
    "tcpSocket": _TCP,
}
LIFECYCLE: Fields = {"postStart": _HANDLER, "preStop": _HANDLER, "stopSignal": None}
_SECURITY: Fields = {
    "appArmorProfile": _any("localhostProfile", "type"),
    "runAsGroup": None,
    "runAsNonRoot": None,
    "runAsUser": None,
    "seLinuxOptions": _any("level", "role", "type", "user"),
    "seccompProfile": _any("localhostProfile", "type"),
    "windowsOptions": _any(
        "gmsaCredentialSpec", "gmsaCredentialSpecName", "hostProcess", "runAsUserName"
    ),
}
CONTAINER_SECURITY: Fields = {
    **_SECURITY,
    "allowPrivilegeEscalation": None,
    "capabilities": _any("add", "drop"),
    "privileged": None,
    "procMount": None,
    "readOnlyRootFilesystem": None,
}
POD_SECURITY: Fields = {
    **_SECURITY,
    **_any(
        "fsGroup",
        "fsGroupChangePolicy",
        "seLinuxChangePolicy",
        "supplementalGroups",
        "supplementalGroupsPolicy",
        "sysctls",
    ),
}
_TERMS = "preferredDuringSchedulingIgnoredDuringExecution"
_MUST = "requiredDuringSchedulingIgnoredDuringExecution"
AFFINITY: Fields = {
    "nodeAffinity": _any(_TERMS, _MUST),
    "podAffinity": _any(_TERMS, _MUST),
    "podAntiAffinity": _any(_TERMS, _MUST),
}


def check_fields(given: Mapping[str, t.Any], known: Fields, what: str, add: Add) -> None:
    """Check that an object has only fields that Kubernetes knows."""
    for name, value in given.items():
        if name not in known:
            add(
                "CLR441",
                f'{what}: there is no field "{name}".{did_you_mean(name, known)}',
            )
            continue
        inner = known[name]
        if inner is None:
            continue
        if isinstance(value, Mapping):
            check_fields(value, inner, f"{what}.{name}", add)
        else:
            add("CLR441", f"{what}.{name} is {value!r:.60}, which is no object.")


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
