"""The controller of ``batch/v1`` jobs: makes their pods, and sums up what becomes of them."""

from __future__ import annotations

import contextlib
import copy
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.kubernetes.container import now
from tests.fakes.kubernetes.selectors import selector
from tests.fakes.kubernetes.store import JOBS, PODS, ApiError, Json, Store

INDEX = "batch.kubernetes.io/job-completion-index"
_TICK_S = 0.03
_BACKOFF_S = 0.1
_NOT_EMULATED = (
    "backoffLimitPerIndex",
    "maxFailedIndexes",
    "podFailurePolicy",
    "successPolicy",
    "managedBy",
    "manualSelector",
)


def first_status(sent: Json) -> Json:
    """The status of a job that is created.

    Raises
    ------
    ApiError
        The job asks for something that is not emulated.
    """
    spec = sent.get("spec") or {}
    found = [name for name in _NOT_EMULATED if spec.get(name) is not None]
    if found:
        raise ApiError(422, "Invalid", f"not emulated: {', '.join(found)} of a job")
    policy = spec.get("template", {}).get("spec", {}).get("restartPolicy")
    if policy != "Never":
        message = f'not emulated: spec.template.spec.restartPolicy: "{policy}"'
        raise ApiError(422, "Invalid", message)
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        message = "spec.completions: Required value: when completion mode is Indexed"
        raise ApiError(422, "Invalid", message)
    return {}


@dataclass
class _Progress:
    """What the controller remembers of a job."""

    began: float = field(default_factory=time.monotonic)
    made: dict[str, int | None] = field(default_factory=dict)
    """Names of pods, and the index of each."""
    phases: dict[str, str] = field(default_factory=dict)
    """How pods have ended."""
    changed: float = 0.0
    """When a pod or the job itself has ended last."""

    def ended(self, phase: str) -> list[str]:
        return [name for name, its_phase in self.phases.items() if its_phase == phase]


class JobController:
    """Works on the jobs of a store until it is closed."""

    def __init__(self, store: Store, *, delay_s: Callable[[str], float]) -> None:
        self.store = store
        self.delay_s = delay_s
        """How long it takes before a job of a name gets its first pods."""
        self.failures: list[BaseException] = []
        self._jobs: dict[str, _Progress] = {}
        self._thread = threading.Thread(target=self._work)

    def __enter__(self) -> JobController:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.store.close()
        self._thread.join()

    def _work(self) -> None:
        everything = selector("", "", "")
        try:
            for _ in self.store.watch(JOBS, everything, "0", timeout_s=_TICK_S):
                for job in self.store.list(JOBS, everything)[1]:
                    with contextlib.suppress(ApiError):  # it has been deleted
                        self._look_at(job)
        except Exception as error:
            self.failures.append(error)
            raise

    def _look_at(self, job: Json) -> None:
        progress = self._jobs.setdefault(job["metadata"]["uid"], _Progress())
        if _is_over(job):
            ttl_s = job["spec"].get("ttlSecondsAfterFinished")
            if ttl_s is not None and time.monotonic() - progress.changed >= ttl_s:
                self.store.delete(JOBS, job["metadata"]["namespace"], job["metadata"]["name"])
            return
        if time.monotonic() - progress.began < self.delay_s(job["metadata"]["name"]):
            return
        spec = job["spec"]
        active = self._count(job, progress)
        failed = [name for name, phase in progress.phases.items() if phase == "Failed"]
        done = {
            name: progress.made[name] for name, end in progress.phases.items() if end != "Failed"
        }
        deadline_s = spec.get("activeDeadlineSeconds")
        if deadline_s is not None and time.monotonic() - progress.began >= deadline_s:
            message = "Job was active longer than specified deadline"
            self._fail(job, progress, active, "DeadlineExceeded", message)
        elif len(failed) > spec.get("backoffLimit", 6):
            message = "Job has reached the specified backoff limit"
            self._fail(job, progress, active, "BackoffLimitExceeded", message)
        elif _is_complete(spec, len(done), len(active)):
            self._delete_pods(job, active)
            self._end(job, progress, "Complete", "CompletionsReached", "Reached expected number")
        else:
            self._make_pods(job, progress, active, done)
            self._report(job, progress)

    def _count(self, job: Json, progress: _Progress) -> list[str]:
        """Note the pods that have ended, and return those that have not."""
        namespace, active = job["metadata"]["namespace"], []
        for name in progress.made:
            if name in progress.phases:
                continue
            try:
                phase = self.store.get(PODS, namespace, name)["status"]["phase"]
            except ApiError:
                phase = "Failed"  # a pod that is gone has not succeeded
            if phase in ("Succeeded", "Failed"):
                progress.phases[name] = phase
                progress.changed = time.monotonic()
            else:
                active.append(name)
        return active

    def _make_pods(
        self, job: Json, progress: _Progress, active: list[str], done: dict[str, int | None]
    ) -> None:
        spec = job["spec"]
        if spec.get("suspend"):
            self._delete_pods(job, active)
            for name in active:
                del progress.made[name]
            return
        any_failed = "Failed" in progress.phases.values()
        if any_failed and time.monotonic() - progress.changed < _BACKOFF_S:
            return
        room = spec.get("parallelism", 1) - len(active)
        completions = _completions(spec)
        if completions is None:
            room = 0 if done else room
        else:
            room = min(room, completions - len(done) - len(active))
        indexes: Sequence[int | None] = [None] * max(0, room)
        if spec.get("completionMode") == "Indexed":
            taken = {progress.made[name] for name in active} | set(done.values())
            indexes = [one for one in range(spec["completions"]) if one not in taken][
                : max(0, room)
            ]
        for index in indexes:
            made = self.store.create(PODS, job["metadata"]["namespace"], _pod(job, index))
            progress.made[made["metadata"]["name"]] = index

    def _fail(
        self, job: Json, progress: _Progress, active: list[str], reason: str, message: str
    ) -> None:
        self._delete_pods(job, active)
        for name in active:
            progress.phases[name] = "Failed"
        self._end(job, progress, "Failed", reason, message)

    def _delete_pods(self, job: Json, names: list[str]) -> None:
        for name in names:
            with contextlib.suppress(ApiError):
                self.store.delete(PODS, job["metadata"]["namespace"], name)

    def _end(self, job: Json, progress: _Progress, kind: str, reason: str, message: str) -> None:
        condition = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message,
            "lastTransitionTime": now(),
            "lastProbeTime": now(),
        }
        more: dict[str, Any] = {"conditions": [condition]}
        if kind == "Complete":
            more["completionTime"] = now()
        progress.changed = time.monotonic()
        self._report(job, progress, **more)

    def _report(self, job: Json, progress: _Progress, **more: object) -> None:
        phases = list(progress.phases.values())
        status: Json = {
            "startTime": job["status"].get("startTime") or now(),
            "active": len(progress.made) - len(phases),
            "succeeded": phases.count("Succeeded"),
            "failed": phases.count("Failed"),
            **more,
        }
        if job["spec"].get("suspend") and not more:
            suspended = {"type": "Suspended", "status": "True", "reason": "JobSuspended"}
            status["conditions"] = [{**suspended, "lastTransitionTime": now()}]
        if job["spec"].get("completionMode") == "Indexed":
            done = sorted(progress.made[name] or 0 for name in progress.ended("Succeeded"))
            status["completedIndexes"] = ",".join(map(str, done))
        if {**job["status"], **status} != job["status"]:
            metadata = job["metadata"]
            self.store.change(
                JOBS,
                metadata["namespace"],
                metadata["name"],
                lambda found: found["status"].update(status),
            )


def _completions(spec: Json) -> int | None:
    """How many pods must succeed, or None if one is enough once the others have ended."""
    number: int | None = spec.get("completions")
    return 1 if number is None and spec.get("parallelism", 1) == 1 else number


def _is_complete(spec: Json, succeeded: int, active: int) -> bool:
    completions = _completions(spec)
    if completions is None:
        return succeeded > 0 and active == 0
    return succeeded >= completions


def _is_over(job: Json) -> bool:
    conditions = job["status"].get("conditions") or ()
    return any(one["type"] in ("Complete", "Failed") for one in conditions)


def _pod(job: Json, index: int | None) -> Json:
    pod = copy.deepcopy(job["spec"]["template"])
    metadata = pod.setdefault("metadata", {})
    name, uid = job["metadata"]["name"], job["metadata"]["uid"]
    metadata.pop("name", None)
    metadata["generateName"] = f"{name}-" if index is None else f"{name}-{index}-"
    metadata["labels"] = {
        **(metadata.get("labels") or {}),
        "batch.kubernetes.io/job-name": name,
        "batch.kubernetes.io/controller-uid": uid,
        "job-name": name,
        "controller-uid": uid,
    }
    metadata["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    ]
    if index is None:
        return pod
    metadata["annotations"] = {**(metadata.get("annotations") or {}), INDEX: str(index)}
    metadata["labels"][INDEX] = str(index)
    variable = {
        "name": "JOB_COMPLETION_INDEX",
        "valueFrom": {"fieldRef": {"fieldPath": f"metadata.annotations['{INDEX}']"}},
    }
    for container in (*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]):
        container["env"] = [*(container.get("env") or ()), variable]
    return pod
