"""Containers of a pod: what they are told, and those beside and before that of a step."""

from __future__ import annotations

from collections.abc import Callable

from couler.backends.argo.pods import Tree, env_from, mount, resources, thaw, variable_source
from couler.backends.argo.text import BRACE_VARIABLE, protect, uses_brace_variable
from couler.ir.pods import (
    ContainerSettings,
    PodContainer,
    Port,
    RestartRule,
    container_texts,
)


def container_place(container: PodContainer, index: int) -> str:
    """Return the name of the parameter that a template takes for a text of a container.

    Examples
    --------
    >>> container_place(PodContainer(name="my-db", image="postgres:17"), 0)
    'container_my_db_0'
    """
    return f"container_{container.name.replace('-', '_')}_{index}"


def container_settings(settings: ContainerSettings | None) -> Tree:
    """Return the fields of a container that it is told besides what it runs."""
    if settings is None:
        return {}
    fields: Tree = {
        "ports": [_port(port) for port in settings.ports],
        "livenessProbe": thaw(settings.liveness_probe),
        "readinessProbe": thaw(settings.readiness_probe),
        "startupProbe": thaw(settings.startup_probe),
        "lifecycle": thaw(settings.lifecycle),
        "securityContext": thaw(settings.security_context),
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
    return _given(fields)


def _port(port: Port) -> Tree:
    return _given(
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


def pod_container(
    container: PodContainer, reference: Callable[[str], str], work_dir: str | None
) -> Tree:
    """Return a sidecar or an init container.

    Parameters
    ----------
    container
        The container.
    reference
        Returns the text for a value, by the name of its place.
    work_dir
        The work folder of the step, where the container sees it.
    """
    texts = [
        protect(text) if isinstance(text, str) else reference(container_place(container, index))
        for index, (_, text) in enumerate(container_texts(container))
    ]
    written = iter(texts)
    command = [next(written) for _ in container.command]
    args = [next(written) for _ in container.args]
    environment = [
        variable_source(variable)
        if variable.value is None
        else {"name": variable.name, "value": next(written)}
        for variable in container.env
    ]
    if work_dir is not None:
        environment.insert(0, {"name": "COULER_WORK", "value": work_dir})
    if any(map(uses_brace_variable, texts)):
        environment.insert(0, {"name": BRACE_VARIABLE, "value": "{"})
    fields: Tree = {
        "name": container.name,
        "image": container.image,
        "command": command,
        "args": args,
        "env": environment,
        "envFrom": [env_from(source) for source in container.env_from],
        "resources": None if container.resources is None else resources(container.resources),
        "volumeMounts": [mount(wanted) for wanted in container.mounts],
        "mirrorVolumeMounts": container.mirror_mounts,
        "workingDir": container.working_dir,
        "imagePullPolicy": container.pull_policy,
        **container_settings(container.settings),
    }
    return _given(fields)


def _given(fields: Tree) -> Tree:
    return {name: value for name, value in fields.items() if value}
