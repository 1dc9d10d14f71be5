"""The options that steps can be given, as type checkers and editors see them."""

from __future__ import annotations

import enum
import typing as t
from collections.abc import Mapping, Sequence

from couler.dsl import objects, pods
from couler.dsl.amounts import Number
from couler.dsl.hooks import AnyHook, OnState
from couler.dsl.locks import AnyLock
from couler.dsl.metrics import AnyMetric
from couler.ir import policies

if t.TYPE_CHECKING:
    from couler.dsl.locations import LocatedFile


class ImagePullPolicy(enum.Enum):
    """When the image of a step is fetched."""

    IfNotPresent = "IfNotPresent"
    Always = "Always"
    Never = "Never"

    @classmethod
    def valid(cls, value: str) -> bool:
        """Return whether this is the name of a policy."""
        return value in cls.__members__

    @classmethod
    def values(cls) -> list[str]:
        """Return the names of the policies."""
        return list(cls.__members__)


class TaskOptions(t.TypedDict, total=False):
    """Options of steps that need no process of their own.

    Attributes
    ----------
    labels, annotations
        Of the step, for engines that know them.
    display_name
        What an engine's pages call it.
    keep_logs
        Whether its logs are kept with the files, or where.
    mutex, locks
        What it holds while it runs: the name of a mutex; a `couler.Mutex`, a `couler.Semaphore`, or
        a list of them.
    metrics, hooks
        What is counted of it; steps that run when it comes into a state.
    max_parallel
        Of a group: how many of its steps run at the same time.
    profile
        Estimates for schedulers: `seconds`, `memory_bytes`, `output_bytes`, `operations`; and the
        kind of `model` and of `task` (`preprocessing`, `training` or `evaluation`).
    engine
        Settings for single engines, by their names, put into what they are given as they are.
    """

    labels: Mapping[str, str] | None
    annotations: Mapping[str, str] | None
    display_name: str | None
    keep_logs: bool | LocatedFile | None
    mutex: str | None
    locks: AnyLock | Sequence[AnyLock] | None
    metrics: AnyMetric | Sequence[AnyMetric] | None
    hooks: AnyHook | Sequence[OnState] | None
    max_parallel: int | None
    profile: policies.Profile | Mapping[str, float | str] | None
    engine: Mapping[str, object] | None


class PodOptions(TaskOptions, total=False):
    """Options of steps that run in a pod, for which `run_container` has no argument of its own.

    Attributes
    ----------
    cpu, memory, disk
        What it asks for: a number (of processors), or quantities such as `"500m"` and `"1Gi"`.
    gpu
        Graphics processors: a number, or a `couler.Gpu`.
    tolerations, affinity, priority_class, priority
        Where it may run, and before which others: the class of its pod; a whole number, by which
        steps of a run start that wait for room, the greatest first.
    container, sidecars, init_containers
        Settings of its container; containers beside it and before it.
    pod
        What its pod is told.
    secrets
        As `secret` of `run_container`.
    """

    cpu: Number | None
    memory: Number | None
    disk: Number | None
    gpu: int | objects.Gpu | None
    tolerations: Sequence[objects.Toleration] | None
    affinity: Mapping[str, object] | None
    priority_class: str | None
    priority: int | None
    container: pods.ContainerSettings | None
    sidecars: Sequence[pods.PodContainer] | None
    init_containers: Sequence[pods.PodContainer] | None
    pod: pods.PodSettings | None
    secrets: str | Sequence[str] | None


class ScriptOptions(PodOptions, total=False):
    """Options of scripts, for which `run_script` has no argument of its own.

    Attributes
    ----------
    env_from, parallelism
        As for `run_container`.
    """

    env_from: Sequence[Mapping[str, object]] | Mapping[str, object] | None
    parallelism: int | None


class StepOptions(ScriptOptions, total=False):
    """Options of every step that runs a process.

    Durations are seconds or text such as `"20m"`; amounts are numbers or Kubernetes quantities.

    Attributes
    ----------
    env, secret, resources, retry, timeout, cache, working_dir, image_pull_policy, daemon, \
    volume_mounts, node_selector, pool, enable_ulogfs
        As for `run_container`.
    """

    env: Mapping[str, object] | None
    secret: str | Sequence[str] | None
    resources: Mapping[str, object] | policies.Resources | None
    retry: int | objects.Retry | None
    timeout: objects.Duration | None
    cache: bool | str | objects.Cache | None
    working_dir: str | None
    image_pull_policy: str | ImagePullPolicy | None
    daemon: bool
    volume_mounts: Sequence[objects.VolumeMount] | None
    node_selector: Mapping[str, str] | None
    pool: str | None
    enable_ulogfs: bool
