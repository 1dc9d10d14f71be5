"""Random workloads: training jobs and clusters in the ranges of OASiS, arrivals of two kinds.

The ranges of the paper are: 50 to 200 epochs, 5 to 100 chunks, 10 to 100 mini-batches a chunk,
0.001 to 0.1 slots a mini-batch, gradients of 30 to 575 MB, workers of 0 to 4 GPUs, 1 to 10
processors, 2 to 32 GB and 5 to 10 GB of disk at 0.1 to 5 Gbit/s, parameter servers without GPUs
at 5 to 20 Gbit/s; priority 1 to 100, target 1 to 15 slots, 10 % time-insensitive, 55 % sensitive,
35 % critical. Drawn independently, the fastest run of a job takes about 270 slots on the median.
So the time of a mini-batch is drawn log-uniformly, and jobs are redrawn until their fastest run
is no longer than `LONGEST` slots, and than what is left. A slot is an hour.
"""

from __future__ import annotations

import math
import typing as t
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from couler.optimizers.scheduling.training import ElasticJob, MachinePool, Sigmoid

RESOURCES = ("gpu", "cpu", "memory_gb", "disk_gb", "gbit_s")
LONGEST = 12
SLOT_S = 3600.0

_GPU_MACHINES = ((8, 32, 488, 1000, 20), (16, 64, 732, 1000, 25), (4, 64, 488, 1000, 25))
"""EC2: p2.8xlarge, p2.16xlarge and g3.16xlarge; bandwidth within the paper's 20 to 50 Gbit/s."""

_CPU_MACHINES = ((0, 36, 60, 1000, 20),)
"""EC2: c4.8xlarge."""

Arrivals: t.TypeAlias = t.Literal["poisson", "google"]
Kind: t.TypeAlias = t.Literal["insensitive", "sensitive", "critical"]

_DECAY: dict[Kind, tuple[float, float]] = {
    "insensitive": (0.0, 0.0),
    "sensitive": (0.01, 1.0),
    "critical": (4.0, 6.0),
}


def cluster(rng: np.random.Generator, workers: int, servers: int) -> MachinePool:
    """Return machines for workers, of three kinds at random, and for parameter servers."""
    kinds = rng.integers(len(_GPU_MACHINES), size=workers)
    return MachinePool.of(
        RESOURCES, [_GPU_MACHINES[kind] for kind in kinds], [_CPU_MACHINES[0]] * servers
    )


def training_jobs(
    rng: np.random.Generator,
    count: int,
    horizon: int,
    arrivals: Arrivals = "google",
    mix: tuple[float, float, float] = (0.10, 0.55, 0.35),
) -> list[ElasticJob]:
    """Return jobs in the order of their arrival."""
    times = arrival_slots(rng, count, horizon, arrivals)
    return [_job(rng, f"job-{number}", slot, horizon, mix) for number, slot in enumerate(times)]


def arrival_slots(
    rng: np.random.Generator, count: int, horizon: int, arrivals: Arrivals
) -> list[int]:
    """Return slots in the first nine tenths of the time, in order.

    ``poisson`` are uniform times, as a Poisson process has them given its count. ``google`` has
    the two features that analyses of Google's traces name: the rate varies by the day
    (1 + 0.5 sin, 24 slots), and jobs come in bursts, of geometric size with the mean 3.
    """
    last = max(1, math.floor(0.9 * horizon))
    if arrivals == "poisson":
        return sorted(int(slot) for slot in rng.integers(last, size=count))
    slots = np.arange(last)
    rate = 1 + 0.5 * np.sin(2 * math.pi * slots / 24)
    found: list[int] = []
    while len(found) < count:
        slot = int(rng.choice(slots, p=rate / rate.sum()))
        found += [slot] * int(rng.geometric(1 / 3))
    return sorted(found[:count])


def kind_of(job: ElasticJob) -> Kind:
    """Return how much the utility of a job depends on time."""
    decay = job.utility.decay
    return "insensitive" if decay == 0 else "sensitive" if decay < 2 else "critical"


def _job(
    rng: np.random.Generator,
    name: str,
    arrival: int,
    horizon: int,
    mix: tuple[float, float, float],
) -> ElasticJob:
    kind: Kind = rng.choice(list(_DECAY), p=mix)
    utility = Sigmoid(
        float(rng.uniform(1, 100)), float(rng.uniform(*_DECAY[kind])), float(rng.uniform(1, 15))
    )
    longest = max(1, min(LONGEST, horizon - arrival))
    return next(
        replace(one, name=name, arrival=arrival, utility=utility)
        for one in _draws(rng)
        if one.shortest <= longest
    )


def _draws(rng: np.random.Generator) -> Iterator[ElasticJob]:
    while True:
        bandwidth, served = float(rng.uniform(0.1, 5)), float(rng.uniform(5, 20))
        batch = float(np.exp(rng.uniform(np.log(0.001), np.log(0.1))))
        exchange = 2 * float(rng.uniform(0.03, 0.575)) * 8 / bandwidth / SLOT_S
        yield ElasticJob(
            "",
            0,
            epochs=int(rng.integers(50, 201)),
            chunks=int(rng.integers(5, 101)),
            batches=int(rng.integers(10, 101)),
            batch_slots=batch + exchange,
            worker=(int(rng.integers(0, 5)), *_demands(rng), bandwidth),
            server=(0, *_demands(rng), served),
            workers_per_server=served / bandwidth,
            utility=Sigmoid(),
        )


def _demands(rng: np.random.Generator) -> tuple[int, int, int]:
    return int(rng.integers(1, 11)), int(rng.integers(2, 33)), int(rng.integers(5, 11))


_TESTBED = {
    # model: gradients in GB, seconds of a mini-batch of 10 images on a worker
    "alexnet": (0.244, 2.0),
    "resnet-50": (0.102, 6.0),
    "resnet-101": (0.178, 10.0),
    "resnet-152": (0.241, 14.0),
    "vgg-11": (0.531, 9.0),
    "inception-bn": (0.045, 4.0),
}
"""Gradients are the models' parameters of four bytes; seconds are ours, for processors."""


def testbed_jobs(rng: np.random.Generator) -> list[ElasticJob]:
    """Return 12 jobs of six kinds that arrive in the first 9 of 10 slots of 20 minutes: V-B.

    200 images in chunks of 20, mini-batches of 10. The number of epochs is lost; it is drawn so
    that a job takes 20 minutes to 2 hours with three workers.
    """
    slot_s = 1200.0
    found = []
    for number, slot in enumerate(sorted(int(one) for one in rng.integers(9, size=12))):
        kind: Kind = rng.choice(list(_DECAY), p=(0.10, 0.55, 0.35))
        name, (size_gb, batch_s) = list(_TESTBED.items())[number % 6]
        bandwidth = float(rng.uniform(0.5, 1))
        batch = (batch_s + 2 * size_gb * 8 / bandwidth) / slot_s
        hours = float(rng.uniform(1 / 3, 2))
        found.append(
            ElasticJob(
                f"{name}-{number}",
                slot,
                epochs=max(1, round(3 * hours * 3 / (10 * 2 * batch))),
                chunks=10,
                batches=2,
                batch_slots=batch,
                worker=(int(rng.integers(0, 2)), int(rng.integers(2, 5)), 8, 5, bandwidth),
                server=(0, int(rng.integers(1, 3)), 4, 5, 2),
                workers_per_server=2 / bandwidth,
                utility=Sigmoid(
                    float(rng.uniform(1, 100)),
                    float(rng.uniform(*_DECAY[kind])),
                    float(rng.uniform(1, 6)),
                ),
            )
        )
    return found
