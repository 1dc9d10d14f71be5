"""What a pod is given besides its command: resources, secrets, where it runs."""

from __future__ import annotations

from couler.backends.airflow.module import Module
from couler.backends.airflow.python import Call, Expression, call, value_of
from couler.ir.policies import Placement, Resources, Toleration
from couler.ir.storage import EnvVar
from couler.ir.workflow import Step

_SECRET = "airflow.providers.cncf.kubernetes.secret"


def pod_fields(step: Step, module: Module) -> dict[str, object]:
    """Return the fields of an operator that say what its pod is given."""
    fields: dict[str, object] = {}
    secrets = [_secret(one, module) for one in step.env if one.secret is not None]
    if secrets:
        fields["secrets"] = secrets
    if step.resources is not None:
        fields["container_resources"] = _resources(step.resources, module)
    if step.placement is not None:
        fields.update(_placement(step.placement, module))
    if step.pull_policy is not None:
        fields["image_pull_policy"] = step.pull_policy
    if step.labels:
        fields["labels"] = dict(step.labels)
    if step.annotations:
        fields["annotations"] = dict(step.annotations)
    return fields


def _secret(variable: EnvVar, module: Module) -> Call:
    assert variable.secret is not None
    name = module.take(_SECRET, "Secret")
    return call(name, "env", variable.name, variable.secret.secret, variable.secret.key)


def _resources(wanted: Resources, module: Module) -> Expression:
    requests = {"cpu": wanted.cpu, "memory": wanted.memory, "ephemeral-storage": wanted.disk}
    requests = {name: amount for name, amount in requests.items() if amount}
    requests.update(wanted.other)
    limits = {**requests}
    limits.update(
        (name, amount)
        for name, amount in (("cpu", wanted.cpu_limit), ("memory", wanted.memory_limit))
        if amount
    )
    if wanted.gpu is not None:
        limits[wanted.gpu.resource] = str(wanted.gpu.count)
    made = _k8s(module, "V1ResourceRequirements")
    return call(made, requests=requests or None, limits=limits or None)


def _placement(wanted: Placement, module: Module) -> dict[str, object]:
    fields: dict[str, object] = {}
    if wanted.node_selector:
        fields["node_selector"] = dict(wanted.node_selector)
    if wanted.tolerations:
        fields["tolerations"] = [_toleration(one, module) for one in wanted.tolerations]
    if wanted.priority_class is not None:
        fields["priority_class_name"] = wanted.priority_class
    return fields


def _toleration(accepted: Toleration, module: Module) -> Expression:
    return call(
        _k8s(module, "V1Toleration"),
        key=accepted.key,
        operator=accepted.operator,
        value=accepted.value,
        effect=accepted.effect,
        toleration_seconds=accepted.seconds,
    )


def _k8s(module: Module, name: str) -> str:
    module.take("kubernetes.client", "models as k8s")
    return f"k8s.{name}"


def entry(value: object) -> Expression:
    """Return a JSON value as an expression."""
    return value_of(value)
