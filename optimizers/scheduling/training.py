"""Training jobs on a parameter-server cluster, and the servers that they share over time slots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Sigmoid:
    """Utility of a job by its duration: ``priority / (1 + exp(decay * (duration - target)))``.

    The paper's section V-A: a decay of 0 is time-insensitive, 0.01 to 1 time-sensitive, 4 to 6
    time-critical.
    """

    priority: float = 1.0
    decay: float = 0.0
    target: float = 0.0

    def __call__(self, duration: float) -> float:
        """Return the utility of a job that takes so many slots."""
        exponent = min(self.decay * (duration - self.target), 700.0)  # exp(710) overflows
        return self.priority / (1.0 + math.exp(exponent))


@dataclass(frozen=True, slots=True)
class ElasticJob:
    """A job whose workers train chunks of its data and exchange parameters through servers.

    Attributes
    ----------
    name
        Name, unique among the jobs.
    arrival
        Slot in which it arrives (a_i of OASiS).
    epochs, chunks, batches
        Passes over the data, chunks of the data, mini-batches of a chunk (E_i, N_i, M_i). No more
        workers than chunks train at a time: constraint (3).
    batch_slots
        Slots that a worker takes for a mini-batch, the exchange of gradients and parameters
        included: tau_i + 2 e_i / b_i.
    worker, server
        What a worker and a parameter server occupy, by resource (w_i^r, s_i^r).
    workers_per_server
        Workers whose bandwidth a parameter server can take, B_i / b_i, at least 1; 0 if the job
        has no parameter servers.
    utility
        Value by duration in slots.
    excluded
        Machines that cannot host its workers, and those that cannot host its parameter servers.
    """

    name: str
    arrival: int
    epochs: int
    chunks: int
    batches: int
    batch_slots: float
    worker: tuple[float, ...]
    server: tuple[float, ...]
    workers_per_server: float
    utility: Sigmoid
    excluded: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())

    def __post_init__(self) -> None:
        """Refuse what (6) and (7) exclude: parameter servers slower than workers."""
        if 0 < self.workers_per_server < 1:
            raise ValueError(f"{self.name}: a parameter server has less bandwidth than a worker")

    @property
    def work(self) -> int:
        """Worker-slots that it takes: the right side of constraint (2), rounded up."""
        exact = self.epochs * self.chunks * self.batches * self.batch_slots
        return max(1, math.ceil(exact - 1e-9))

    @property
    def shortest(self) -> int:
        """Slots that it takes with as many workers as chunks."""
        return math.ceil(self.work / self.chunks)

    def servers(self, workers: int) -> int:
        """Return how many parameter servers so many workers need: constraint (6)."""
        if self.workers_per_server <= 0:
            return 0
        return math.ceil(workers / self.workers_per_server - 1e-9)


@dataclass(frozen=True, slots=True)
class MachinePool:
    """The machines that host workers, and those that host parameter servers.

    Attributes
    ----------
    names
        Names of the resources, in the order of the columns.
    workers, servers
        Capacity by machine and resource: arrays of shape (machines, resources).
    """

    names: tuple[str, ...]
    workers: Floats
    servers: Floats

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        workers: Sequence[Sequence[float]],
        servers: Sequence[Sequence[float]] = (),
    ) -> MachinePool:
        """Return servers with capacities given as lists."""
        shape = (-1, len(names))
        return cls(
            tuple(names),
            np.asarray(workers, dtype=float).reshape(shape),
            np.asarray(servers, dtype=float).reshape(shape),
        )


def room(capacity: Floats, used: Floats, demand: Sequence[float]) -> Counts:
    """Return how many more of a demand fit, by the leading axes of the arrays."""
    needs = np.asarray(demand)
    asked = needs > 0
    free = ((capacity - used)[..., asked] / needs[asked]).min(axis=-1, initial=2.0**40)
    counts: Counts = np.maximum(np.floor(free + 1e-9), 0).astype(np.int64)
    return counts
