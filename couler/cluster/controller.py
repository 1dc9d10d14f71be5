"""Carrying out a plan on Kubernetes: jobs get the sizes and nodes that a policy decided on.

The plan is in a ConfigMap, which is written before the cluster is changed. A controller that
crashed is started again and compares the plan with the objects. Jobs that were deleted by others
are not created again.
"""

from __future__ import annotations

import json
import secrets
import time
import typing as t
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field

from couler.cluster import objects
from couler.cluster.objects import ClusterObjects, Json
from couler.errors import EngineError, RefusedError

PLAN_LABEL = "couler/plan"
"""Label of a plan's objects: the name of the plan. No other object is changed or deleted."""

State: t.TypeAlias = t.Literal[
    "rejected", "waiting", "running", "moving", "succeeded", "failed", "deleted"
]
"""`deleted` is a job that was deleted by others."""

_MOVE_POLL_S = 1.0


@dataclass(slots=True)
class PlannedJob:
    """A job of a plan.

    Attributes
    ----------
    name
        Name of its object.
    manifest
        The object, without a size or node.
    state
        What has become of it.
    reason
        Why it is rejected.
    utility, cost
        Of its schedule under OASiS; the cost is infinite if none fits.
    slots
        By number of the slot, for a job whose size changes: the workers and the parameter servers
        on each node.
    node, hosts, gpus
        For a job that can move: its node, the value of the label `kubernetes.io/hostname` of each
        node that can host it, and the GPUs of all its pods.
    used_s
        Processor seconds of a job that can move, so far.
    """

    name: str
    manifest: Json
    state: State = "waiting"
    reason: str = ""
    utility: float = 0.0
    cost: float = 0.0
    slots: dict[str, tuple[dict[str, int], dict[str, int]]] = field(default_factory=dict)
    node: str | None = None
    hosts: dict[str, str] = field(default_factory=dict)
    gpus: int = 0
    used_s: float = 0.0

    def size(self, slot: int) -> tuple[int, int]:
        """Return its workers and parameter servers in a slot; after the last one, as in that."""
        last = max(map(int, self.slots))
        workers, servers = self.slots.get(str(min(slot, last)), ({}, {}))
        return sum(workers.values()), sum(servers.values())

    @property
    def is_over(self) -> bool:
        """Whether nothing more is to be done for it."""
        return self.state in ("rejected", "succeeded", "failed", "deleted")


@dataclass(slots=True)
class TrainingPlan:
    """Jobs, and when the first slot began, in seconds since the epoch."""

    name: str
    policy: str
    start: float
    slot_s: float
    jobs: list[PlannedJob]
    owner: str = ""
    """The process that works on it."""

    @classmethod
    def from_json(cls, text: str) -> TrainingPlan:
        """Read a plan.

        Raises
        ------
        EngineError
            The text is no plan of this version.
        """
        try:
            found = json.loads(text)
            return cls(**{**found, "jobs": [PlannedJob(**job) for job in found["jobs"]]})
        except (ValueError, TypeError, KeyError) as error:
            raise EngineError(f"the stored plan cannot be read: {error}") from error

    def slot(self, now: float) -> int:
        """Return the slot of a time."""
        return int((now - self.start) // self.slot_s)


class PlanStore:
    """A plan in a ConfigMap; a change that another process made since is refused."""

    def __init__(self, api: ClusterObjects, name: str) -> None:
        self._api = api
        self.name = f"couler-plan-{name}"
        self._found = api.get("ConfigMap", self.name)

    def load(self) -> TrainingPlan | None:
        """Return the plan, if there is one."""
        if self._found is None:
            return None
        return TrainingPlan.from_json((self._found.get("data") or {}).get("plan", ""))

    def save(self, plan: TrainingPlan) -> None:
        """Write the plan."""
        data = {"plan": json.dumps(asdict(plan))}
        if self._found is not None:
            self._found = self._api.replace({**self._found, "data": data})
            return
        metadata = {"name": self.name, "labels": {PLAN_LABEL: plan.name}}
        made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
        self._found = self._api.create(made) or self._api.get("ConfigMap", self.name)
        if self._found is None or self._found.get("data") != data:
            raise EngineError(f"another process has stored the plan {plan.name} just now")

    def remove(self) -> None:
        """Delete the plan."""
        self._api.delete("ConfigMap", self.name)


class Controller:
    """Brings the cluster into the state of a plan."""

    def __init__(
        self,
        api: ClusterObjects,
        store: PlanStore,
        plan: TrainingPlan,
        *,
        interval_s: float,
        report: Callable[[str], object],
    ) -> None:
        """Work on a plan.

        Parameters
        ----------
        api
            The objects.
        store, plan
            Where the plan is stored, and the plan.
        interval_s
            How often the objects are compared with it.
        report
            Is given what is done, a line at a time.
        """
        self._api = api
        self._store = store
        self.plan = plan
        self._interval_s = interval_s
        self._report = report
        plan.owner = secrets.token_hex(8)

    def run(self, decide: Callable[[], object] = lambda: None) -> None:
        """Work until all jobs are over; `decide` is called at each interval, and can move jobs."""
        last = time.time()
        while True:
            self._store.save(self.plan)  # fails if another process has taken the plan over
            self.reconcile()
            now = time.time()
            self._count_time(now - last)
            last = now
            if all(job.is_over for job in self.plan.jobs):
                self._store.remove()
                return
            if any(job.state == "moving" for job in self.plan.jobs):
                time.sleep(_MOVE_POLL_S)
                continue
            decide()
            next_slot = self.plan.start + (self.plan.slot(now) + 1) * self.plan.slot_s
            moves = any(job.state == "moving" for job in self.plan.jobs)
            time.sleep(0.0 if moves else max(0.0, min(self._interval_s, next_slot - now)))

    def reconcile(self) -> None:
        """Compare all jobs with their objects, and change these."""
        slot = self.plan.slot(time.time())
        for job in self.plan.jobs:
            if not job.is_over:
                self._reconcile(job, slot)

    def move(self, job: PlannedJob, node: str) -> None:
        """Let a job that runs continue on another node: it is deleted, and created again there."""
        job.node = node
        self._set(job, "moving")

    def running(self) -> Iterator[tuple[PlannedJob, Json]]:
        """Yield the jobs that run, and the progress that each has reported last."""
        for job in self.plan.jobs:
            if job.state == "running":
                try:
                    yield job, objects.last_progress(self._api, job.manifest["kind"], job.name)
                except EngineError as error:
                    self._report(f"the progress of {job.name} cannot be read: {error}")
                    yield job, {}

    def _count_time(self, passed_s: float) -> None:
        """Jobs that run on one node have had equal parts of its processors."""
        moving = [job for job in self.plan.jobs if job.node and job.state == "running"]
        counts = Counter(job.node for job in moving)
        for job in moving:
            job.used_s += passed_s / counts[job.node]

    def _reconcile(self, job: PlannedJob, slot: int) -> None:
        kind = job.manifest["kind"]
        found = self._own(job)
        workers, servers = job.size(slot) if job.slots else (1, 0)
        if found is None and job.state == "waiting":
            if workers:
                self._create(job, workers, servers)
        elif found is None and job.state == "moving":
            self._api.create(self._wanted(job, workers, servers))
            self._set(job, "running", f"moved {job.name} to {job.node}")
        elif found is None:
            self._set(job, "deleted", f"{job.name} was deleted externally and is not recreated")
        elif job.state == "moving" and objects.node_of(found) != job.hosts[job.node or ""]:
            # A program that is stopped to be moved can fail: that is not its end.
            if "deletionTimestamp" not in found["metadata"] and not self._end(job, found):
                self._api.delete(kind, job.name)
        elif not self._end(job, found):
            if job.state != "running":
                self._set(job, "running")
            if job.slots and objects.size_of(found) != workers:
                self._api.patch(kind, job.name, objects.with_size(found, workers, servers))
                self._report(f"{job.name}: {objects.size_of(found)} to {workers} workers")

    def _create(self, job: PlannedJob, workers: int, servers: int) -> None:
        try:
            self._api.create(self._wanted(job, workers, servers))
        except RefusedError as error:
            self._set(job, "failed", f"{job.name} cannot be created: {error}")
        else:
            where = f"on {job.node}" if job.node else f"with {workers} workers"
            self._set(job, "running", f"created {job.name} {where}")

    def _end(self, job: PlannedJob, found: Json) -> bool:
        """Take note of the end of a job, if it has ended."""
        end = objects.end_of(found)
        if end is not None:
            self._set(job, end, f"{job.name} has {end}")
        return end is not None

    def _own(self, job: PlannedJob) -> Json | None:
        """Return the object of a job; one that is not of this plan is refused."""
        found = self._api.get(job.manifest["kind"], job.name)
        if found is not None and _labels(found).get(PLAN_LABEL) != self.plan.name:
            raise EngineError(
                f"there is a {job.manifest['kind']} {job.name}, and it is not of the plan "
                f"{self.plan.name}. Delete it, or rename the workflow"
            )
        return found

    def _wanted(self, job: PlannedJob, workers: int, servers: int) -> Json:
        metadata = {**(job.manifest.get("metadata") or {}), "name": job.name}
        metadata.pop("generateName", None)
        metadata["labels"] = {**_labels(job.manifest), PLAN_LABEL: self.plan.name}
        made = {**job.manifest, "metadata": metadata}
        if job.slots:
            made = objects.merged(made, objects.with_size(made, workers, servers))
        return objects.with_node(made, job.hosts[job.node]) if job.node else made

    def _set(self, job: PlannedJob, state: State, message: str = "") -> None:
        job.state = state
        self._store.save(self.plan)
        if message:
            self._report(message)


def _labels(found: Json) -> dict[str, str]:
    return (found.get("metadata") or {}).get("labels") or {}
