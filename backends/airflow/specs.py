"""What a pod is told besides its containers, as Kubernetes writes it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.backends.airflow.python import Expression
from couler.ir import kubernetes_pods
from couler.ir.kubernetes_pods import dns, resources, toleration
from couler.ir.pods import PodContainer, PodOptions, PodSettings, StepPod
from couler.ir.policies import Placement
from couler.ir.storage import EnvVar
from couler.ir.values import Text, thawed
from couler.ir.workflow import Step

Tree: t.TypeAlias = dict[str, t.Any]
"""A JSON object, in which texts of users may be expressions."""
Write: t.TypeAlias = Callable[[Text], Expression]
"""Returns the expression for a text that the kubelet reads."""


def variable(wanted: EnvVar, write: Write) -> Tree:
    """Return an entry of `env`."""
    if wanted.secret is not None or wanted.config is not None:
        return kubernetes_pods.variable_source(wanted)
    return {"name": wanted.name, "value": write(wanted.value or "")}


def container(wanted: PodContainer, write: Write) -> Tree:
    """Return a container before or beside that of a step."""
    return kubernetes_pods.container(
        wanted,
        [write(word) for word in wanted.command],
        [write(word) for word in wanted.args],
        [variable(one, write) for one in wanted.env],
    )


BASE = "base"
"""The name of the container of a step in the pods of Airflow."""
_MAIN = "main"
"""Its name in workflows."""
_NAMED = frozenset(("containers", "env", "initContainers", "volumes"))
"""Lists in which a patch finds entries by their names."""


def pod_spec(step: Step, shared: PodSettings | None, gpu_type_label: str) -> Tree:
    """Return the specification of the pod of a step without its containers and volumes."""
    every = shared or PodSettings()
    own = step.pod or StepPod()
    place = step.placement or Placement()
    selector = dict(place.node_selector or every.node_selector)
    gpu = None if step.resources is None else step.resources.gpu
    if gpu is not None and gpu.type is not None:
        selector.setdefault(gpu_type_label, gpu.type)
    fields: Tree = {
        "nodeSelector": selector,
        "tolerations": [toleration(one) for one in place.tolerations or every.tolerations],
        "affinity": thawed(place.affinity or every.affinity),
        "priorityClassName": place.priority_class or every.priority_class,
        "imagePullSecrets": [{"name": name} for name in every.image_pull_secrets],
        "hostNetwork": every.host_network or None,
        **(dns(every.dns) if every.dns is not None else {}),
        **_options(every),
        **_options(own),
    }
    return {name: value for name, value in fields.items() if value not in (None, "", [], {})}


def patches(step: Step, shared: PodSettings | None) -> list[Tree]:
    """Return what is merged into the specification of the pod of a step, in this order."""
    found = [] if shared is None else [shared.spec_patch]
    if step.pod is not None:
        found.append(step.pod.spec_patch)
    return [_with_own_names(thawed(one)) for one in found if one]


def patched(tree: Tree, patch: Tree) -> Tree:
    """Return a specification with a patch merged in: null removes a field."""
    merged = dict(tree)
    for key, value in patch.items():
        old = merged.get(key)
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            merged[key] = patched(old if isinstance(old, dict) else {}, value)
        elif key in _NAMED and isinstance(value, list):
            merged[key] = _patched_entries(old or [], value)
        else:
            merged[key] = value
    return merged


def _options(pod: PodOptions) -> Tree:
    fields: Tree = {
        "serviceAccountName": pod.service_account,
        "hostAliases": [
            {"ip": alias.ip, "hostnames": list(alias.names)} for alias in pod.host_aliases
        ],
        "schedulerName": pod.scheduler,
        "securityContext": thawed(pod.security_context),
        "resources": None if pod.resources is None else resources(pod.resources),
        "resourceClaims": thawed(pod.resource_claims),
    }
    given = {name: value for name, value in fields.items() if value}
    if pod.automount_service_account_token is not None:
        given["automountServiceAccountToken"] = pod.automount_service_account_token
    return given


def _with_own_names(patch: Tree) -> Tree:
    containers = [
        {**one, "name": BASE} if one.get("name") == _MAIN else one
        for one in patch.get("containers") or ()
    ]
    return {**patch, "containers": containers} if containers else patch


def _patched_entries(old: list[Tree], changes: list[Tree]) -> list[Tree]:
    by_name = {one["name"]: one for one in old}
    for change in changes:
        by_name[change["name"]] = patched(by_name.get(change["name"], {}), change)
    return [*by_name.values()]
