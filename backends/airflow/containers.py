"""Containers as Kubernetes writes them: that of a step, those before and those beside it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.backends.airflow.python import Expression
from couler.ir.manifests import thawed
from couler.ir.pods import ContainerSettings, PodContainer, Port, RestartRule
from couler.ir.policies import Resources
from couler.ir.storage import EnvFrom, EnvVar, Mount
from couler.ir.values import Text

Tree: t.TypeAlias = dict[str, t.Any]
"""A JSON object, in which texts of users may be expressions."""
Write: t.TypeAlias = Callable[[Text], Expression]
"""Returns the expression for a text that the kubelet reads."""


def resources(wanted: Resources) -> Tree:
    """Return the `resources` of a container: what it asks for is its limit, unless it says one."""
    requests = {"cpu": wanted.cpu, "memory": wanted.memory, "ephemeral-storage": wanted.disk}
    limits = {**requests, **_given({"cpu": wanted.cpu_limit, "memory": wanted.memory_limit})}
    requests.update(wanted.other)
    limits.update(wanted.other)
    if wanted.gpu is not None:
        limits[wanted.gpu.resource] = str(wanted.gpu.count)
    return _given({"requests": _given(requests), "limits": _given(limits)})


def mount(wanted: Mount) -> Tree:
    """Return an entry of `volumeMounts`."""
    fields = {"subPath": wanted.sub_path, "readOnly": wanted.read_only}
    return {"name": wanted.volume, "mountPath": wanted.path, **_given(fields)}


def env_from(source: EnvFrom) -> Tree:
    """Return an entry of `envFrom`."""
    tree: Tree = {"prefix": source.prefix} if source.prefix else {}
    if source.secret is not None:
        return {**tree, "secretRef": {"name": source.secret}}
    return {**tree, "configMapRef": {"name": source.config_map}}


def variable(wanted: EnvVar, write: Write) -> Tree:
    """Return an entry of `env`."""
    if wanted.secret is not None:
        key = {"name": wanted.secret.secret, "key": wanted.secret.key}
        kind, optional = "secretKeyRef", wanted.secret.optional
    elif wanted.config is not None:
        key = {"name": wanted.config.config_map, "key": wanted.config.key}
        kind, optional = "configMapKeyRef", wanted.config.optional
    else:
        return {"name": wanted.name, "value": write(wanted.value or "")}
    reference = {**key, "optional": True} if optional else key
    return {"name": wanted.name, "valueFrom": {kind: reference}}


def settings(wanted: ContainerSettings | None) -> Tree:
    """Return the fields of a container that it is told besides what it runs."""
    if wanted is None:
        return {}
    fields: Tree = {
        "ports": [_port(port) for port in wanted.ports],
        "livenessProbe": thawed(wanted.liveness_probe),
        "readinessProbe": thawed(wanted.readiness_probe),
        "startupProbe": thawed(wanted.startup_probe),
        "lifecycle": thawed(wanted.lifecycle),
        "securityContext": thawed(wanted.security_context),
        "restartPolicy": wanted.restart_policy,
        "restartPolicyRules": [_rule(rule) for rule in wanted.restart_rules],
        "resizePolicy": [
            {
                "resourceName": entry.resource,
                "restartPolicy": "RestartContainer" if entry.restart else "NotRequired",
            }
            for entry in wanted.resize
        ],
        "stdin": wanted.stdin,
        "stdinOnce": wanted.stdin_once,
        "tty": wanted.tty,
        "terminationMessagePath": wanted.termination_message_path,
        "terminationMessagePolicy": wanted.termination_message_policy,
        "volumeDevices": [
            {"name": device.volume, "devicePath": device.path} for device in wanted.devices
        ],
    }
    return _given(fields)


def container(wanted: PodContainer, write: Write) -> Tree:
    """Return a container before or beside that of a step."""
    fields: Tree = {
        "name": wanted.name,
        "image": wanted.image,
        "command": [write(word) for word in wanted.command],
        "args": [write(word) for word in wanted.args],
        "env": [variable(one, write) for one in wanted.env],
        "envFrom": [env_from(source) for source in wanted.env_from],
        "resources": None if wanted.resources is None else resources(wanted.resources),
        "volumeMounts": [mount(one) for one in wanted.mounts],
        "workingDir": wanted.working_dir,
        "imagePullPolicy": wanted.pull_policy,
        **settings(wanted.settings),
    }
    return _given(fields)


def _port(port: Port) -> Tree:
    fields = {
        "name": port.name,
        "containerPort": port.number,
        "protocol": port.protocol,
        "hostPort": port.host_port,
        "hostIP": port.host_ip,
    }
    return _given(fields)


def _rule(rule: RestartRule) -> Tree:
    operator = "NotIn" if rule.others else "In"
    codes = {"operator": operator, "values": list(rule.exit_codes)}
    return {"action": "Restart", "exitCodes": codes}


def _given(fields: Tree) -> Tree:
    return {name: value for name, value in fields.items() if value}
