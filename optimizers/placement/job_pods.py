"""The pods that the resource of a job makes: what each requests, and how many there are."""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from couler.ir.policies import Toleration
from couler.ir.quantity import parse_quantity
from couler.ir.workflow import Job
from couler.optimizers.placement.pod_needs import ARCHITECTURE_LABEL
from couler.optimizers.placement.problem import Edge, Pipeline, Task

MOST_REPLICAS = 512
"""So many tasks stand for the pods of all tasks of a step at most."""

_REPLICAS_OF: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "PyTorchJob": ("pytorchReplicaSpecs", {}),
    "TFJob": ("tfReplicaSpecs", {}),
    "MPIJob": ("mpiReplicaSpecs", {}),
    "XGBoostJob": ("xgbReplicaSpecs", {}),
    "PaddleJob": ("paddleReplicaSpecs", {}),
}
"""Where the operators of Kubeflow have the types of replicas, by the kind of the resource."""

_USUAL_TRIALS = 3
"""So many trials Katib runs at once where the experiment does not say."""

_NAMED_RESOURCES = frozenset({"cpu", "memory", "ephemeral-storage"})

_MAKING = frozenset({"create", "apply", "replace"})


@dataclass(frozen=True, slots=True)
class Replicas:
    """Pods of one type."""

    type: str
    count: int
    task: Task
    unread: tuple[str, ...] = ()
    own_tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class JobPods:
    """The pods of a job."""

    replicas: tuple[Replicas, ...] = ()
    unknown: str = ""


def pods_of_job(job: Job, gpu_keys: Sequence[str] = ()) -> JobPods:
    """Return the pods that a job makes."""
    if job.action not in _MAKING:
        return JobPods(unknown=f"it makes no pods that are known, but runs kubectl {job.action}")
    if job.manifest_from is not None:
        return JobPods(unknown="its resource is in a file, which is known only when it runs")
    kind = job.manifest.get("kind")
    found = tuple(_replicas(job.manifest, gpu_keys))
    if not found:
        named = f"of the kind {kind}" if isinstance(kind, str) else "without a kind"
        return JobPods(unknown=f"the pods that a resource {named} makes are not known")
    return JobPods(found)


def with_replicas(
    pipeline: Pipeline, replicas: Mapping[str, Sequence[Replicas]]
) -> tuple[Pipeline, dict[str, tuple[str, str]]]:
    """Return a pipeline in which the pods of jobs are tasks, beside those that wait for them."""
    if not replicas:
        return pipeline, {}
    begins = {name: f"{name} (before its pods)" for name in replicas}
    tasks: list[Task] = []
    edges = [replace(one, target=begins.get(one.target, one.target)) for one in pipeline.edges]
    owners: dict[str, tuple[str, str]] = {}
    most = max(1, MOST_REPLICAS // len(replicas))
    for task in pipeline.tasks:
        if task.name not in replicas:
            tasks.append(task)
            continue
        begin = begins[task.name]
        nothing = replace(task, operations=0.0, seconds={"": 0.0})
        tasks += [replace(nothing, name=begin), nothing]
        edges.append(Edge(begin, task.name))
        for one, count in _bounded(replicas[task.name], most):
            for number in range(count):
                name = f"{task.name} ({one.type} {number})"
                owners[name] = task.name, one.type
                tasks.append(
                    replace(
                        one.task,
                        name=name,
                        kind=task.kind,
                        model=task.model,
                        operations=task.operations,
                        seconds=task.seconds,
                    )
                )
                edges += [Edge(begin, name), Edge(name, task.name)]
    return replace(pipeline, tasks=tuple(tasks), edges=tuple(edges)), owners


def _bounded(replicas: Sequence[Replicas], most: int) -> Iterator[tuple[Replicas, int]]:
    """Yield types with as many of each as are looked at, at least one."""
    whole = sum(one.count for one in replicas)
    for one in replicas:
        yield one, one.count if whole <= most else max(1, one.count * most // whole)


def _replicas(manifest: Mapping[str, t.Any], gpu_keys: Sequence[str]) -> Iterator[Replicas]:
    kind, spec = manifest.get("kind"), _table(manifest.get("spec"))
    if isinstance(kind, str) and kind in _REPLICAS_OF:
        for type_, one in _table(spec.get(_REPLICAS_OF[kind][0])).items():
            yield from _type(type_, _count(_table(one).get("replicas"), 1), _pod(one), gpu_keys)
    elif kind == "Job":
        wanted = (spec.get("parallelism"), spec.get("completions"))
        counts = [_count(one, 1) for one in wanted if one is not None]
        number = _count(spec.get("parallelism"), 1) if counts else 1
        yield from _type("pod", min([number, *counts]), _pod(spec), gpu_keys)
    elif kind == "Pod":
        yield from _type("pod", 1, spec, gpu_keys)
    elif kind == "Experiment":
        trial = _table(_table(spec.get("trialTemplate")).get("trialSpec"))
        at_once = _count(spec.get("parallelTrialCount"), _USUAL_TRIALS)
        for one in _replicas(trial, gpu_keys):
            yield replace(one, type=f"trial's {one.type}", count=one.count * at_once)


def _pod(owner: t.Any) -> Mapping[str, t.Any]:
    return _table(_table(_table(owner).get("template")).get("spec"))


def _type(
    type_: str, count: int, pod: Mapping[str, t.Any], gpu_keys: Sequence[str]
) -> Iterator[Replicas]:
    if count < 1 or not pod:
        return
    unread: list[str] = []
    main = [_requests(one, unread) for one in _rows(pod.get("containers"))]
    first = [_requests(one, unread) for one in _rows(pod.get("initContainers"))]
    names = {name for one in (*main, *first) for name in one}

    def most(name: str) -> float:
        together = sum(one.get(name, 0.0) for one in main)
        return max([together, *(one.get(name, 0.0) for one in first)])

    gpus = [name for name in names if name.endswith("/gpu") or name in gpu_keys]
    unread += sorted(names - _NAMED_RESOURCES - set(gpus))
    gpu = max(gpus, key=most, default=None)
    selector = {
        key: value for key, value in _table(pod.get("nodeSelector")).items() if value is not None
    }
    if len(selector) < len(_table(pod.get("nodeSelector"))):
        unread.append("the values of its node selector")
    if _table(pod.get("affinity")):
        unread.append("its affinity")
    own = tuple(_toleration(one) for one in _rows(pod.get("tolerations")))
    asks = gpu is not None and most(gpu) > 0
    lent = [Toleration(key=key, operator="Exists") for key in gpu_keys] if asks else []
    task = Task(
        type_,
        cpu=most("cpu"),
        memory_bytes=math.ceil(most("memory")),
        gpus=0 if gpu is None else math.ceil(most(gpu)),
        gpu_resource=gpu,
        architecture=selector.pop(ARCHITECTURE_LABEL, None),
        selector=selector,
        tolerations=(*own, *lent),
    )
    yield Replicas(type_, count, task, tuple(dict.fromkeys(unread)), own)


def _requests(container: Mapping[str, t.Any], unread: list[str]) -> dict[str, float]:
    """Return what a container asks for by name; what is known only when it runs counts as none."""
    resources = _table(container.get("resources"))
    given = {**_table(resources.get("limits")), **_table(resources.get("requests"))}
    found: dict[str, float] = {}
    for name, amount in given.items():
        try:
            found[name] = float(parse_quantity(str(amount)))
        except ValueError:
            unread.append(f"its amount of {name}")
    return found


def _toleration(given: Mapping[str, t.Any]) -> Toleration:
    return Toleration(
        key=given.get("key") or None,
        operator="Exists" if given.get("operator") == "Exists" else "Equal",
        value=given.get("value") or None,
        effect=given.get("effect") or None,
    )


def _table(value: t.Any) -> Mapping[str, t.Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: t.Any) -> list[Mapping[str, t.Any]]:
    return [_table(one) for one in value] if isinstance(value, list | tuple) else []


def _count(value: t.Any, usual: int) -> int:
    """Return a number of pods; `usual` where it is not stated, or known only when it runs."""
    return value if isinstance(value, int) and not isinstance(value, bool) else usual
