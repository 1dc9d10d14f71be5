"""Containers of a pod: what they are told, and those beside and before that of a step."""

from __future__ import annotations

from collections.abc import Callable

from couler.backends.argo.pods import Tree
from couler.backends.argo.text import BRACE_VARIABLE, protect, uses_brace_variable
from couler.ir import kubernetes_pods
from couler.ir.pods import PodContainer, container_texts


def container_place(container: PodContainer, index: int) -> str:
    """Return the name of the parameter that a template takes for a text of a container."""
    return f"container_{container.name.replace('-', '_')}_{index}"


def pod_container(
    container: PodContainer, reference: Callable[[str], str], work_dir: str | None
) -> Tree:
    """Return a sidecar or an init container."""
    texts = [
        protect(text) if isinstance(text, str) else reference(container_place(container, index))
        for index, (_, text) in enumerate(container_texts(container))
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
