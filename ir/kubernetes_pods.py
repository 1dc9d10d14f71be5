"""What pods, their containers and their volumes are told, as Kubernetes and the kubelet read it."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Sequence

from couler.ir.pods import ContainerSettings, Dns, PodContainer, Port, RestartRule
from couler.ir.policies import Resources, Toleration
from couler.ir.storage import (
    ClaimVolume,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EnvFrom,
    EnvVar,
    EphemeralVolume,
    HostVolume,
    Mount,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretVolume,
    SourceVolume,
    Volume,
)
from couler.ir.values import thawed

Tree: t.TypeAlias = dict[str, t.Any]


def resources(wanted: Resources) -> Tree:
    """Return the `resources` of a container: what it asks for is its limit, unless it says one."""
    requests: Tree = {}
    limits: Tree = {}
    for name, amount, limit in (
        ("cpu", wanted.cpu, wanted.cpu_limit),
        ("memory", wanted.memory, wanted.memory_limit),
        ("ephemeral-storage", wanted.disk, None),
    ):
        if amount is not None and limit not in (None, amount):
            requests[name] = amount
        if limit is not None or amount is not None:
            limits[name] = limit or amount
    for name, amount in wanted.other.items():
        limits[name] = amount
    if wanted.gpu is not None:
        limits[wanted.gpu.resource] = str(wanted.gpu.count)
    return given({"requests": requests, "limits": limits})


def mount(wanted: Mount) -> Tree:
    """Return an entry of `volumeMounts`."""
    fields = {"subPath": wanted.sub_path, "readOnly": wanted.read_only}
    return {"name": wanted.volume, "mountPath": wanted.path, **given(fields)}


def env_from(source: EnvFrom) -> Tree:
    """Return an entry of `envFrom`."""
    tree: Tree = {"prefix": source.prefix} if source.prefix else {}
    if source.secret is not None:
        return {**tree, "secretRef": {"name": source.secret}}
    return {**tree, "configMapRef": {"name": source.config_map}}


def variable_source(variable: EnvVar) -> Tree:
    """Return an entry of `env` that comes from a secret or a config map; an empty one else."""
    if variable.secret is not None:
        reference: Tree = {"name": variable.secret.secret, "key": variable.secret.key}
        kind, optional = "secretKeyRef", variable.secret.optional
    elif variable.config is not None:
        reference = {"name": variable.config.config_map, "key": variable.config.key}
        kind, optional = "configMapKeyRef", variable.config.optional
    else:
        return {"name": variable.name, "value": ""}
    if optional:
        reference["optional"] = True
    return {"name": variable.name, "valueFrom": {kind: reference}}


def container_settings(settings: ContainerSettings | None) -> Tree:
    """Return the fields of a container that it is told besides what it runs."""
    if settings is None:
        return {}
    fields: Tree = {
        "ports": [_port(port) for port in settings.ports],
        "livenessProbe": thawed(settings.liveness_probe),
        "readinessProbe": thawed(settings.readiness_probe),
        "startupProbe": thawed(settings.startup_probe),
        "lifecycle": thawed(settings.lifecycle),
        "securityContext": thawed(settings.security_context),
        "restartPolicy": settings.restart_policy,
        "restartPolicyRules": [_rule(rule) for rule in settings.restart_rules],
        "resizePolicy": [
            {
                "resourceName": entry.resource,
                "restartPolicy": "RestartContainer" if entry.restart else "NotRequired",
            }
            for entry in settings.resize
        ],
        "stdin": settings.stdin,
        "stdinOnce": settings.stdin_once,
        "tty": settings.tty,
        "terminationMessagePath": settings.termination_message_path,
        "terminationMessagePolicy": settings.termination_message_policy,
        "volumeDevices": [
            {"name": device.volume, "devicePath": device.path} for device in settings.devices
        ],
    }
    return given(fields)


def toleration(accepted: Toleration) -> Tree:
    """Return an entry of `tolerations`."""
    fields = {
        "key": accepted.key,
        "operator": accepted.operator,
        "value": accepted.value,
        "effect": accepted.effect,
        "tolerationSeconds": accepted.seconds,
    }
    return {name: value for name, value in fields.items() if value is not None}


def dns(wanted: Dns) -> Tree:
    """Return the `dnsPolicy` and the `dnsConfig` of a pod."""
    config: Tree = {
        "nameservers": list(wanted.nameservers),
        "searches": list(wanted.searches),
        "options": [{"name": name, "value": value} for name, value in wanted.options.items()],
    }
    return given({"dnsPolicy": wanted.policy, "dnsConfig": given(config)})


def _port(port: Port) -> Tree:
    return given(
        {
            "name": port.name,
            "containerPort": port.number,
            "protocol": port.protocol,
            "hostPort": port.host_port,
            "hostIP": port.host_ip,
        }
    )


def _rule(rule: RestartRule) -> Tree:
    operator = "NotIn" if rule.others else "In"
    codes = {"operator": operator, "values": list(rule.exit_codes)}
    return {"action": "Restart", "exitCodes": codes}


def container(
    wanted: PodContainer,
    command: Sequence[object],
    args: Sequence[object],
    environment: Sequence[Tree],
    *,
    can_mirror: bool = False,
) -> Tree:
    """Return a sidecar or an init container, whose texts an engine has written."""
    fields: Tree = {
        "name": wanted.name,
        "image": wanted.image,
        "command": command,
        "args": args,
        "env": environment,
        "envFrom": [env_from(source) for source in wanted.env_from],
        "resources": None if wanted.resources is None else resources(wanted.resources),
        "volumeMounts": [mount(one) for one in wanted.mounts],
        "mirrorVolumeMounts": can_mirror and wanted.mirror_mounts,
        "workingDir": wanted.working_dir,
        "imagePullPolicy": wanted.pull_policy,
        **container_settings(wanted.settings),
    }
    return given(fields)


def given(fields: Tree) -> Tree:
    """Return the fields that state something."""
    return {name: value for name, value in fields.items() if value}


_DOLLAR = re.compile(r"\$(?=[$(])")


def needs_dollars(text: str) -> bool:
    """Return whether the kubelet would change a text."""
    return "$$" in text or "$(" in text


def protect_dollars(text: str) -> str:
    """Double the dollars of a text that the kubelet would take for the start of something."""
    return _DOLLAR.sub("$$", text) if needs_dollars(text) else text


def volume(wanted: Volume) -> Tree | None:
    """Return an entry of `volumes`; None for a claim that the run makes."""
    source = _source(wanted)
    return None if source is None else {"name": wanted.name, **source}


def _source(wanted: Volume) -> Tree | None:
    match wanted:
        case ClaimVolume():
            claim = {"claimName": wanted.claim, "readOnly": wanted.read_only}
            return {"persistentVolumeClaim": given(claim)}
        case EmptyVolume():
            medium = "Memory" if wanted.in_memory else None
            return {"emptyDir": given({"medium": medium, "sizeLimit": wanted.size})}
        case SecretVolume():
            return {"secret": {"secretName": wanted.secret, **_entries(wanted)}}
        case ConfigVolume():
            return {"configMap": {"name": wanted.config_map, **_entries(wanted)}}
        case HostVolume():
            return {"hostPath": {"path": wanted.path}}
        case NfsVolume():
            folder = {"server": wanted.server, "path": wanted.path, "readOnly": wanted.read_only}
            return {"nfs": given(folder)}
        case CsiVolume():
            return {"csi": _driver(wanted)}
        case EphemeralVolume():
            return {"ephemeral": {"volumeClaimTemplate": {"spec": _claim(wanted)}}}
        case ProjectedVolume():
            projected = {"sources": thawed(wanted.sources), "defaultMode": wanted.mode}
            return {"projected": given(projected)}
        case SourceVolume():
            return t.cast(Tree, thawed(wanted.source))
        case NewClaimVolume():
            return None
    t.assert_never(wanted)


def claim_template(wanted: NewClaimVolume) -> Tree:
    """Return an entry of `volumeClaimTemplates`."""
    return {"metadata": {"name": wanted.name}, "spec": _claim(wanted)}


def _claim(wanted: NewClaimVolume | EphemeralVolume) -> Tree:
    spec: Tree = {
        "accessModes": list(wanted.access_modes),
        "resources": {"requests": {"storage": wanted.size}},
    }
    if wanted.storage_class is not None:
        spec["storageClassName"] = wanted.storage_class
    return spec


def _entries(wanted: SecretVolume | ConfigVolume) -> Tree:
    items = [{"key": key, "path": path} for key, path in wanted.items.items()]
    fields = given({"items": items, "optional": wanted.optional})
    if wanted.mode is not None:  # 0 is a mode
        fields["defaultMode"] = wanted.mode
    return fields


def _driver(wanted: CsiVolume) -> Tree:
    secret = None if wanted.secret is None else {"name": wanted.secret}
    fields = {
        "driver": wanted.driver,
        "volumeAttributes": dict(wanted.attributes),
        "fsType": wanted.file_system,
        "readOnly": wanted.read_only,
        "nodePublishSecretRef": secret,
    }
    return given(fields)
