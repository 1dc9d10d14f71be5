"""What a pod is given: resources, environment, placement, mounts; further containers."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Callable, Iterable

from couler.backends.argo.tags import BRACE_VARIABLE, protect, uses_brace_variable
from couler.ir import kubernetes_pods
from couler.ir.kubernetes_pods import toleration
from couler.ir.pods import PodContainer
from couler.ir.policies import Placement, Retry
from couler.ir.values import TEXTS, thawed
from couler.ir.workflow import Step

Tree: t.TypeAlias = dict[str, t.Any]

GPU_TYPE_LABEL = "nvidia.com/gpu.product"
"""Node label that names the type of a node's GPUs, as NVIDIA's feature discovery sets it."""

_ANYWHERE = Placement.model_construct()


def placement(step: Step, gpu_type_label: str) -> Tree:
    """Return the fields of a template that choose nodes."""
    wanted = step.placement or _ANYWHERE
    selector = dict(wanted.node_selector)
    if step.resources is not None and step.resources.gpu is not None:
        gpu_type = step.resources.gpu.type
        if gpu_type is not None:
            selector.setdefault(gpu_type_label, gpu_type)
    fields: Tree = {
        "nodeSelector": selector,
        "tolerations": [toleration(accepted) for accepted in wanted.tolerations],
        "affinity": thawed(wanted.affinity),
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
    """Return seconds as a duration of Go."""
    return f"{int(seconds)}s" if seconds == int(seconds) else f"{math.ceil(seconds * 1000)}ms"


def metadata(labels: Iterable[tuple[str, str]], annotations: Iterable[tuple[str, str]]) -> Tree:
    """Return `labels` and `annotations`, each only if there are any."""
    fields = {"labels": dict(labels), "annotations": dict(annotations)}
    return {name: value for name, value in fields.items() if value}


def container_place(container: PodContainer, index: int) -> str:
    """Return the name of the parameter that a template takes for a text of a container."""
    return f"container_{container.name.replace('-', '_')}_{index}"


def pod_container(
    container: PodContainer, reference: Callable[[str], str], work_dir: str | None
) -> Tree:
    """Return a sidecar or an init container."""
    texts = [
        protect(text) if isinstance(text, str) else reference(container_place(container, index))
        for index, (_, text) in enumerate(TEXTS.visit(container))
    ]
    written = iter(texts)
    command = [next(written) for _ in container.command]
    args = [next(written) for _ in container.args]
    environment = [
        kubernetes_pods.variable_source(variable)
        if variable.value is None
        else {"name": variable.name, "value": next(written)}
        for variable in container.env
    ]
    if work_dir is not None:
        environment.insert(0, {"name": "COULER_WORK", "value": work_dir})
    if any(map(uses_brace_variable, texts)):
        environment.insert(0, {"name": BRACE_VARIABLE, "value": "{"})
    return kubernetes_pods.container(container, command, args, environment, can_mirror=True)
