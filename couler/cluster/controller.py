"""Carrying out a plan on Kubernetes: jobs get the sizes and nodes that a policy wants for them.

All that is decided is in a ConfigMap, which is written before the cluster is changed. A controller
that crashed is started again, and goes on from there: what it wanted is compared with the objects
that there are. Jobs that others have deleted are not created again.
"""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields

from couler.cluster import objects
from couler.cluster.objects import ClusterObjects, Json
from couler.errors import EngineError

MANAGED_BY = {"app.kubernetes.io/managed-by": "couler"}
PLAN_LABEL = "couler/plan"
"""Label of a plan's objects: the name of the plan. No other object is changed or deleted."""

State: t.TypeAlias = t.Literal[
    "rejected", "waiting", "running", "moving", "succeeded", "failed", "deleted"
]
"""`deleted` is a job that somebody else has deleted."""

_WAIT_S = 120.0


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
    slots
        By number of the slot, for a job whose size changes: its machines, and the workers and the
        parameter servers on each.
    node
        The node that it runs on, for a job that can be moved.
    """

    name: str
    manifest: Json
    state: State = "waiting"
    reason: str = ""
    slots: dict[str, tuple[dict[str, int], dict[str, int]]] = field(default_factory=dict)
    node: str | None = None

    def size(self, slot: int) -> tuple[int, int]:
        """Return its workers and parameter servers in a slot, after the last one as in that."""
        found = self.slots.get(str(slot))
        if found is None and slot > max(map(int, self.slots)):
            found = self.slots[str(max(map(int, self.slots)))]
        workers, servers = found or ({}, {})
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

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> TrainingPlan:
        """Read it."""
        found = json.loads(text)
        names = {one.name for one in fields(PlannedJob)}
        jobs = [PlannedJob(**{key: job[key] for key in names}) for job in found.pop("jobs")]
        return cls(**found, jobs=jobs)

    def slot(self, now: float) -> int:
        """Return the slot of a time."""
        return int((now - self.start) // self.slot_s)


class PlanStore:
    """A plan in a ConfigMap; a change that another process made meanwhile is refused."""

    def __init__(self, cluster: ClusterObjects, name: str) -> None:
        self._cluster = cluster
        self._name = f"couler-plan-{name}"
        self._found: Json = None

    def load(self) -> TrainingPlan | None:
        """Return the plan, if there is one."""
        self._found = self._cluster.get("ConfigMap", self._name)
        return None if self._found is None else TrainingPlan.from_json(self._found["data"]["plan"])

    def save(self, plan: TrainingPlan) -> None:
        """Write the plan."""
        data = {"plan": plan.to_json()}
        if self._found is None:
            metadata = {"name": self._name, "labels": MANAGED_BY}
            self._cluster.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}
            )
            self._found = self._cluster.get("ConfigMap", self._name)
        else:
            self._found = self._cluster.replace({**self._found, "data": data})

    def remove(self) -> None:
        """Delete the plan, of which all is done."""
        self._cluster.delete("ConfigMap", self._name)


class Controller:
    """Lets the cluster be as a plan wants it."""

    def __init__(
        self,
        cluster: ClusterObjects,
        plan: TrainingPlan,
        *,
        say: Callable[[str], object],
        clock: Callable[[], float],
        sleep: Callable[[float], object],
    ) -> None:
        """Work on a plan.

        Parameters
        ----------
        cluster
            The objects.
        plan
            The plan, as it was stored or is to be.
        say
            Is given what is done, a line at a time.
        clock, sleep
            The time in seconds since the epoch, and what waits.
        """
        self._cluster = cluster
        self._store = PlanStore(cluster, plan.name)
        self._store.load()
        self.plan = plan
        self._say = say
        self._clock = clock
        self._sleep = sleep
        self._store.save(plan)

    def run(self, before: Callable[[], object] = lambda: None) -> None:
        """Work until all jobs are over: at once, and at the begin of each slot."""
        while True:
            before()
            self.reconcile()
            if all(job.is_over for job in self.plan.jobs):
                self._store.remove()
                return
            now = self._clock()
            self._sleep(self.plan.start + (self.plan.slot(now) + 1) * self.plan.slot_s - now)

    def reconcile(self) -> None:
        """Compare what is wanted now with what there is, and change that."""
        for job in self.plan.jobs:
            if not job.is_over:
                self._reconcile(job, self.plan.slot(self._clock()))

    def move(self, name: str, node: str) -> None:
        """Let a job go on on another node: it is deleted, and created again there."""
        [job] = [one for one in self.plan.jobs if one.name == name]
        if job.state == "running":
            job.node = node
            self._set(job, "moving")

    def running(self) -> Iterator[tuple[PlannedJob, Json]]:
        """Yield the jobs that run, and the progress that each has reported last."""
        for job in self.plan.jobs:
            if job.state == "running":
                kind = job.manifest["kind"]
                yield job, objects.last_progress(self._cluster, kind, job.name)

    def _reconcile(self, job: PlannedJob, slot: int) -> None:
        kind = job.manifest["kind"]
        workers, servers = job.size(slot) if job.slots else (1, 0)
        if job.state == "moving":
            self._finish_move(job)
        found = self._cluster.get(kind, job.name)
        if job.state == "waiting":
            if found is not None and self._labels(found).get(PLAN_LABEL) != self.plan.name:
                raise EngineError(
                    f"there is a {kind} {job.name} already, and it is not of the plan "
                    f"{self.plan.name}. Delete it, or give the plan another --name"
                )
            if workers:
                self._cluster.create(self._wanted(job, workers, servers))
                self._set(job, "running", f"created {job.name}{self._shown(job, workers)}")
        elif found is None:
            self._set(job, "deleted", f"{job.name} was deleted by somebody else; it is left so")
        elif (end := objects.end_of(found)) is not None:
            state: State = "succeeded" if end == "succeeded" else "failed"
            self._set(job, state, f"{job.name} has {end}")
        elif job.slots and objects.size_of(found) != workers:
            self._cluster.patch(kind, job.name, objects.with_size(found, workers, servers))
            self._say(f"{job.name}: {objects.size_of(found)} to {workers} workers")

    def _finish_move(self, job: PlannedJob) -> None:
        """Delete a job that is to move, if that is not done, and create it on its node."""
        kind = job.manifest["kind"]
        limit = self._clock() + _WAIT_S
        while (found := self._cluster.get(kind, job.name)) is not None:
            if objects.node_of(found) == job.node or objects.end_of(found) is not None:
                break  # created by a controller that crashed then, or ended meanwhile
            self._cluster.delete(kind, job.name)
            if self._clock() > limit:
                raise EngineError(f"{job.name} is not gone {_WAIT_S:.0f} s after it was deleted")
            self._sleep(0.5)
        else:
            self._cluster.create(self._wanted(job, 1, 0))
        self._set(job, "running", f"moved {job.name} to {job.node}")

    def _wanted(self, job: PlannedJob, workers: int, servers: int) -> Json:
        metadata = job.manifest.get("metadata") or {}
        labels = {**self._labels(job.manifest), **MANAGED_BY, PLAN_LABEL: self.plan.name}
        made = {**job.manifest, "metadata": {**metadata, "name": job.name, "labels": labels}}
        made["metadata"].pop("generateName", None)
        if job.slots:
            made = objects.merged(made, objects.with_size(made, workers, servers))
        return objects.with_node(made, job.node) if job.node else made

    def _labels(self, found: Json) -> dict[str, str]:
        return (found.get("metadata") or {}).get("labels") or {}

    def _shown(self, job: PlannedJob, workers: int) -> str:
        return f" on {job.node}" if job.node else f" with {workers} workers"

    def _set(self, job: PlannedJob, state: State, message: str = "") -> None:
        job.state = state
        self._store.save(self.plan)
        if message:
            self._say(message)
