"""Jobs and the artifacts between them, as numbers: what caching reasons about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter


@dataclass(frozen=True)
class ArtifactGraph:
    """A directed acyclic graph of n jobs, `0` to `n - 1`, and m artifacts, `0` to `m - 1`."""

    jobs: tuple[str, ...]
    artifacts: tuple[str, ...]
    producer: tuple[int | None, ...]
    readers: tuple[tuple[int, ...], ...]
    size_bytes: tuple[int, ...]
    seconds: tuple[float, ...]
    resources: tuple[float, ...] = ()
    waits: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        """Check what the fields say of each other, in O(n + m + edges)."""
        count = len(self.jobs)
        object.__setattr__(self, "resources", self.resources or (1.0,) * count)
        object.__setattr__(self, "waits", self.waits or ((),) * count)
        of_jobs = {"seconds": self.seconds, "resources": self.resources, "waits": self.waits}
        of_artifacts = {
            "producer": self.producer,
            "readers": self.readers,
            "size_bytes": self.size_bytes,
        }
        _check_lengths(of_jobs, count, "jobs")
        _check_lengths(of_artifacts, len(self.artifacts), "artifacts")
        for what, values in (
            ("seconds", self.seconds),
            ("resources", self.resources),
            ("size_bytes", self.size_bytes),
        ):
            if any(not value >= 0 for value in values):
                raise ValueError(f"{what}: a value is negative, or not a number")
        if len(set(self.artifacts)) != len(self.artifacts):
            raise ValueError("artifacts: two have the same name")
        named = {job for job in self.producer if job is not None}
        named.update(job for jobs in (*self.readers, *self.waits) for job in jobs)
        if named and not (min(named) >= 0 and max(named) < count):
            raise ValueError(f"producer, readers or waits name a job that is not among {count}")
        if any(len(set(jobs)) != len(jobs) for jobs in self.readers):
            raise ValueError("readers: a job is named twice")
        _ = self.order

    @cached_property
    def inputs(self) -> tuple[tuple[int, ...], ...]:
        """For each job the artifacts that it reads."""
        found: list[list[int]] = [[] for _ in self.jobs]
        for artifact, jobs in enumerate(self.readers):
            for job in jobs:
                found[job].append(artifact)
        return tuple(map(tuple, found))

    @cached_property
    def outputs(self) -> tuple[tuple[int, ...], ...]:
        """For each job the artifacts that it makes."""
        found: list[list[int]] = [[] for _ in self.jobs]
        for artifact, job in enumerate(self.producer):
            if job is not None:
                found[job].append(artifact)
        return tuple(map(tuple, found))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each job those that must end before it: makers of what it reads, and `waits`."""
        found: list[set[int]] = [set(waits) for waits in self.waits]
        for artifact, jobs in enumerate(self.readers):
            maker = self.producer[artifact]
            if maker is not None:
                for job in jobs:
                    found[job].add(maker)
        return tuple(tuple(sorted(jobs)) for jobs in found)

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """For each job those that cannot start before its end."""
        found: list[list[int]] = [[] for _ in self.jobs]
        for job, before in enumerate(self.predecessors):
            for one in before:
                found[one].append(job)
        return tuple(map(tuple, found))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """A topological order of the jobs."""
        try:
            return tuple(TopologicalSorter(dict(enumerate(self.predecessors))).static_order())
        except CycleError as error:
            names = " -> ".join(self.jobs[job] for job in error.args[1])
            raise ValueError(f"jobs wait for each other: {names}") from None

    @cached_property
    def number(self) -> dict[str, int]:
        """The number of each artifact by its name."""
        return {name: number for number, name in enumerate(self.artifacts)}


def _check_lengths(fields: Mapping[str, Sequence[object]], count: int, of: str) -> None:
    for what, values in fields.items():
        if len(values) != count:
            raise ValueError(f"{what}: {len(values)} values for {count} {of}")
