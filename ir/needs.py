"""What must exist where a workflow runs: secrets, config maps, volume claims."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator

from couler.ir.artifacts import location_references
from couler.ir.locks import Lock, Semaphore
from couler.ir.pods import PodOptions
from couler.ir.storage import (
    ClaimVolume,
    ConfigKey,
    ConfigVolume,
    CsiVolume,
    EnvFrom,
    EnvVar,
    SecretKey,
    SecretVolume,
    Volume,
)
from couler.ir.walk import all_steps, locations, pod_containers
from couler.ir.workflow import Container, Http, Step, Workflow


class Need(t.NamedTuple):
    """One object that must exist before a run."""

    kind: t.Literal["secret", "config map", "volume claim", "service account"]
    name: str
    keys: tuple[str, ...] = ()

    def __str__(self) -> str:
        keys = f" with the keys {', '.join(self.keys)}" if self.keys else ""
        return f'{self.kind} "{self.name}"{keys} must exist'


def needs(workflow: Workflow) -> tuple[Need, ...]:
    """Return what a workflow refers to and does not make, each object once, in program order."""
    keys: dict[tuple[str, str], dict[str, None]] = {}
    for kind, name, key in _references(workflow):
        found = keys.setdefault((kind, name), {})
        if key is not None:
            found[key] = None
    return tuple(Need(kind, name, tuple(found)) for (kind, name), found in keys.items())  # type: ignore[arg-type]  # the kinds are those of _references


_REFERRING = frozenset(
    (
        "env",
        "env_from",
        "sidecars",
        "init_containers",
        "locks",
        "inputs",
        "outputs",
        "logs",
        "pod",
    )
)
"""The fields of a step that may refer to such objects, besides an action that is no container."""


def _references(workflow: Workflow) -> Iterator[tuple[str, str, str | None]]:
    for required in workflow.secrets:
        yield "secret", required.secret, required.key
    for parameter in workflow.parameters:
        if parameter.config is not None and parameter.default is None:
            yield "config map", parameter.config.config_map, parameter.config.key
    for step in all_steps(workflow):
        if step.gives(_REFERRING) or not isinstance(step.action, Container):
            yield from _of_step(step)
    for lock in workflow.locks:
        yield from _of_lock(lock)
    for volume in workflow.volumes:
        yield from _of_volume(volume)
    if workflow.runs is not None:
        for plugin in workflow.runs.plugins:
            for variable in plugin.container.env:
                yield from _of_variable(variable)
            for source in plugin.container.env_from:
                yield from _of_source(source)
    files = workflow.files
    if files is not None and files.repository is not None and files.repository.config_map:
        yield "config map", files.repository.config_map, files.repository.key
    if files is not None and files.removal is not None and files.removal.service_account:
        yield "service account", files.removal.service_account, None
    if workflow.pod is not None:
        for name in workflow.pod.image_pull_secrets:
            yield "secret", name, None
        yield from _of_pod(workflow.pod)


def _of_step(step: Step) -> Iterator[tuple[str, str, str | None]]:
    variables = list(step.env)
    if isinstance(step.action, Http):
        variables += step.action.headers
    sources = list(step.env_from)
    for container in pod_containers(step):
        variables += container.env
        sources += container.env_from
    for variable in variables:
        yield from _of_variable(variable)
    for lock in step.locks:
        yield from _of_lock(lock)
    for source in sources:
        yield from _of_source(source)
    for location in locations(step):
        for key in location_references(location):
            yield from _of_key(key)
    if step.pod is not None:
        yield from _of_pod(step.pod)


def _of_pod(pod: PodOptions) -> Iterator[tuple[str, str, str | None]]:
    for name in (pod.service_account, pod.executor_service_account):
        if name is not None:
            yield "service account", name, None


def _of_volume(volume: Volume) -> Iterator[tuple[str, str, str | None]]:
    match volume:
        case ClaimVolume():
            yield "volume claim", volume.claim, None
        case SecretVolume(optional=False):
            for key in volume.items or (None,):
                yield "secret", volume.secret, key
        case ConfigVolume(optional=False):
            for key in volume.items or (None,):
                yield "config map", volume.config_map, key
        case CsiVolume(secret=str(secret)):
            yield "secret", secret, None


def _of_source(source: EnvFrom) -> Iterator[tuple[str, str, str | None]]:
    if source.secret is not None:
        yield "secret", source.secret, None
    if source.config_map is not None:
        yield "config map", source.config_map, None


def _of_variable(variable: EnvVar) -> Iterator[tuple[str, str, str | None]]:
    for key in (variable.secret, variable.config):
        if key is not None:
            yield from _of_key(key)


def _of_key(key: SecretKey | ConfigKey) -> Iterator[tuple[str, str, str | None]]:
    if key.optional:
        return
    if isinstance(key, SecretKey):
        yield "secret", key.secret, key.key
    else:
        yield "config map", key.config_map, key.key


def _of_lock(lock: Lock) -> Iterator[tuple[str, str, str | None]]:
    if isinstance(lock, Semaphore) and lock.namespace is None:
        yield "config map", lock.limit.config_map, lock.limit.key
