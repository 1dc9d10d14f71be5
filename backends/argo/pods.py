"""What a pod is given: resources, environment, placement, mounts."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterable

from couler.ir.pods import Dns
from couler.ir.policies import Placement, Resources, Retry, Toleration
from couler.ir.storage import EnvFrom, EnvVar, Mount
from couler.ir.workflow import Step

Tree: t.TypeAlias = dict[str, t.Any]

GPU_TYPE_LABEL = "nvidia.com/gpu.product"
"""Node label that names the type of a node's GPUs, as NVIDIA's feature discovery sets it."""


def resources(wanted: Resources) -> Tree:
    """Return a container's `resources`: what is asked for is also the limit, unless stated."""
    requests: Tree = {}
    limits: Tree = {}
    for name, amount, limit in (
        ("cpu", wanted.cpu, wanted.cpu_limit),
        ("memory", wanted.memory, wanted.memory_limit),
        ("ephemeral-storage", wanted.disk, None),
    ):
        if amount is not None:
            requests[name] = amount
        if limit is not None or amount is not None:
            limits[name] = limit or amount
    for name, amount in wanted.other.items():
        requests[name] = limits[name] = amount
    if wanted.gpu is not None:
        limits[wanted.gpu.resource] = str(wanted.gpu.count)
    return {key: value for key, value in (("requests", requests), ("limits", limits)) if value}


def variable_source(variable: EnvVar) -> Tree:
    """Return an environment variable that comes from a secret or a config map."""
    if variable.secret is not None:
        reference = {"name": variable.secret.secret, "key": variable.secret.key}
        kind, optional = "secretKeyRef", variable.secret.optional
    elif variable.config is not None:
        reference = {"name": variable.config.config_map, "key": variable.config.key}
        kind, optional = "configMapKeyRef", variable.config.optional
    else:
        return {"name": variable.name, "value": ""}
    tree: Tree = {**reference, "optional": True} if optional else dict(reference)
    return {"name": variable.name, "valueFrom": {kind: tree}}


def env_from(source: EnvFrom) -> Tree:
    """Return an entry of `envFrom`."""
    tree: Tree = {"prefix": source.prefix} if source.prefix else {}
    if source.secret is not None:
        tree["secretRef"] = {"name": source.secret}
    else:
        tree["configMapRef"] = {"name": source.config_map}
    return tree


def mount(wanted: Mount) -> Tree:
    """Return an entry of `volumeMounts`."""
    tree: Tree = {"name": wanted.volume, "mountPath": wanted.path}
    if wanted.sub_path is not None:
        tree["subPath"] = wanted.sub_path
    if wanted.read_only:
        tree["readOnly"] = True
    return tree


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


def placement(step: Step, gpu_type_label: str) -> Tree:
    """Return the fields of a template that choose nodes."""
    wanted = step.placement or Placement()
    selector = dict(wanted.node_selector)
    if step.resources is not None and step.resources.gpu is not None:
        gpu_type = step.resources.gpu.type
        if gpu_type is not None:
            selector.setdefault(gpu_type_label, gpu_type)
    fields: Tree = {
        "nodeSelector": selector,
        "tolerations": [toleration(accepted) for accepted in wanted.tolerations],
        "affinity": thaw(wanted.affinity),
        "priorityClassName": wanted.priority_class,
    }
    return {name: value for name, value in fields.items() if value}


def retry_strategy(retry: Retry) -> Tree:
    """Return a template's `retryStrategy`."""
    policies = {
        frozenset(["failure"]): "OnFailure",
        frozenset(["error"]): "OnError",
        frozenset(["transient"]): "OnTransientError",
    }
    policy = policies.get(frozenset(retry.on), "Always")
    tree: Tree = {"limit": str(retry.limit), "retryPolicy": policy}
    if retry.backoff is not None:
        backoff = retry.backoff
        tree["backoff"] = {"duration": duration(backoff.seconds), "factor": int(backoff.factor)}
        if backoff.cap_s is not None:
            tree["backoff"]["cap"] = duration(backoff.cap_s)
        if backoff.max_duration_s is not None:
            tree["backoff"]["maxDuration"] = duration(backoff.max_duration_s)
    if retry.other_node:
        tree["affinity"] = {"nodeAntiAffinity": {}}
    if retry.exit_codes:
        codes = ", ".join(f"'{code}'" for code in retry.exit_codes)
        tree["expression"] = f"lastRetry.exitCode in [{codes}]"
    return tree


def duration(seconds: float) -> str:
    """Return seconds as a duration of Go.

    Examples
    --------
    >>> duration(90), duration(0.5)
    ('90s', '500ms')
    """
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{math.ceil(seconds * 1000)}ms"


def dns(wanted: Dns) -> Tree:
    """Return `dnsPolicy` and `dnsConfig` of a workflow."""
    config: Tree = {
        "nameservers": list(wanted.nameservers),
        "searches": list(wanted.searches),
        "options": [{"name": name, "value": value} for name, value in wanted.options.items()],
    }
    fields: Tree = {
        "dnsPolicy": wanted.policy,
        "dnsConfig": {name: value for name, value in config.items() if value},
    }
    return {name: value for name, value in fields.items() if value}


def metadata(labels: Iterable[tuple[str, str]], annotations: Iterable[tuple[str, str]]) -> Tree:
    """Return `labels` and `annotations`, each only if there are any."""
    fields = {"labels": dict(labels), "annotations": dict(annotations)}
    return {name: value for name, value in fields.items() if value}


def thaw(value: object) -> t.Any:
    """Return a frozen JSON value with plain lists and dicts."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [thaw(item) for item in value]
    return value
