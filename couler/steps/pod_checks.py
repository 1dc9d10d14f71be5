"""Checks of the pods of jobs, by the rules for the pods of a workflow's own steps."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Sequence

from couler.dsl.checks import attempt
from couler.dsl.objects import VolumeMount
from couler.dsl.pod_options import toleration_of
from couler.ir import storage
from couler.ir.verify.environment import (
    check_config_key,
    check_mount,
    check_secret_key,
    check_variable_names,
    check_volume,
)
from couler.ir.verify.kubernetes import (
    check_annotations,
    check_labels,
    check_object_name,
    check_toleration,
    command_problem,
    image_problem,
)
from couler.ir.verify.names import Add

if t.TYPE_CHECKING:
    from couler.steps.pods import JobDraft


def check_pod(draft: JobDraft, image: object, command: object) -> None:
    """Report what Kubernetes would refuse in a pod; what several pods share is told once."""
    given, add = draft.given, draft.add
    if isinstance(image, str):
        problem = image_problem(image)
        if problem is not None:
            add("CLR408", problem)
    if isinstance(command, Sequence) and not isinstance(command, str):
        problem = command_problem(command)
        if problem is not None:
            add("CLR409", problem)
    for variable, value in draft.env.items():
        _check_variable(variable, value, add)
    check_objects(draft, "secret", *draft.secrets)
    _check_mounts(draft)
    check_labels(given.get("node_selector") or {}, "node_selector", add)
    for toleration in given.get("tolerations") or ():
        check_toleration(toleration_of(toleration), add)
    check_labels(given.get("pod_labels") or {}, "labels", add)
    check_annotations(given.get("pod_annotations") or {}, add)


def check_objects(draft: JobDraft, what: str, *names: object) -> None:
    """Report names that no object of a cluster can have."""
    for name in names:
        if isinstance(name, str):  # a value of the workflow is known only when it runs
            check_object_name(name, what, draft.add)


def is_sound(variable: str, value: object) -> bool:
    """Return whether nothing is wrong with a variable of the environment."""
    found: list[str] = []
    _check_variable(variable, value, lambda code, _: found.append(code))
    return not found


def _check_variable(name: str, value: object, add: Add) -> None:
    check_variable_names([storage.EnvVar(name=name)], add)
    if isinstance(value, storage.SecretKey):
        check_secret_key(value, add)
    elif isinstance(value, storage.ConfigKey):
        check_config_key(value, add)


def _check_mounts(draft: JobDraft) -> None:
    taken: dict[str, str] = {}
    for given in draft.volume_mounts:
        make = functools.partial(_mount, given)
        mount = attempt(draft.builder, "volume_mounts", make, draft.name)
        if mount is None:
            continue
        check_mount(mount, taken, draft.add)
        if mount.volume not in draft.builder.volumes:  # the workflow's own are checked with it
            check_volume(storage.EmptyVolume(name=mount.volume), draft.add)


def _mount(given: VolumeMount) -> storage.Mount:
    return storage.Mount(volume=given.name, path=given.mount_path, sub_path=given.sub_path)
