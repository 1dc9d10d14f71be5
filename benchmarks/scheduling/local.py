"""Real training on this machine: jobs that move between processors, and jobs of varying size.

All train a softmax regression in numpy on the digits that scikit-learn has with it (1,797 images).
A node is a processor to which processes are bound.

    python -m benchmarks.scheduling.local NAME STEPS RATE FOLDER

trains one job that saves a checkpoint on SIGTERM, and continues from it.
"""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from couler.cluster.objects import read_progress
from couler.optimizers.scheduling.migration import JobProgress, MigrationRule, Move
from couler.optimizers.scheduling.training import Floats

_EVERY = 20
_BATCH = 64
RATE = 0.5
_HEAVY = 30
"""How often each gradient is computed: the time of a larger model."""

_FORK = multiprocessing.get_context("fork")


class Digits:
    """The images, scaled, and their labels."""

    def __init__(self) -> None:
        spec = find_spec("sklearn")  # it takes seconds to import
        assert spec is not None
        assert spec.origin is not None
        rows = np.loadtxt(Path(spec.origin).parent / "datasets/data/digits.csv.gz", delimiter=",")
        self.images: Floats = np.hstack([rows[:, :-1] / 16.0, np.ones((len(rows), 1))])
        self.classes: Floats = np.eye(10)[rows[:, -1].astype(int)]

    def batch(self, step: int) -> slice:
        """Return the examples of a step, always the same ones."""
        start = step * _BATCH % (len(self.images) - _BATCH)
        return slice(start, start + _BATCH)

    def loss(self, weights: Floats) -> float:
        """Return the mean cross entropy of a model."""
        return float(-np.log(_softmax(self.images @ weights)[self.classes > 0]).mean())

    def gradient(self, weights: Floats, examples: slice) -> Floats:
        """Return the sum of the gradients of some examples."""
        images = self.images[examples]
        found: Floats = images.T @ (_softmax(images @ weights) - self.classes[examples])
        return found


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: Floats = powers / powers.sum(axis=1, keepdims=True)
    return found


def train(name: str, steps: int, rate: float, folder: Path) -> None:
    """Train a job, from its checkpoint if there is one; save one on SIGTERM."""
    digits, file = Digits(), folder / f"{name}.npz"
    saved: t.Any = np.load(file) if file.exists() else {"step": 0, "weights": np.zeros((65, 10))}
    step, weights = int(saved["step"]), saved["weights"]
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stopped.append(number))
    while step < steps and not stopped:
        for _ in range(_HEAVY):
            gradient = digits.gradient(weights, digits.batch(step))
        weights = weights - rate / _BATCH * gradient
        step += 1
        if step % _EVERY == 0:
            told = {"step": step, "loss": digits.loss(weights), "done": step / steps}
            print("couler-progress", json.dumps(told), flush=True)
    if stopped:
        np.savez(file, step=step, weights=weights)


@dataclass
class LocalJob:
    """A training job as a process that is bound to a processor."""

    name: str
    steps: int
    node: str
    rate: float = RATE
    process: subprocess.Popen[bytes] | None = None
    losses: dict[int, float] = field(default_factory=dict)
    done: float = 0.0
    ended_s: float | None = None
    used_before_s: float = 0.0
    unread: bytes = b""

    def start(self, folder: Path, processors: Mapping[str, int]) -> None:
        """Start it on its node, from its checkpoint if there is one."""
        arguments = [self.name, str(self.steps), str(self.rate), str(folder)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.scheduling.local", *arguments],
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
        os.sched_setaffinity(self.process.pid, {processors[self.node]})
        assert self.process.stdout is not None
        os.set_blocking(self.process.stdout.fileno(), False)

    def read(self) -> None:
        """Take note of what it has reported."""
        assert self.process is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BlockingIOError):  # no more for now
            while text := os.read(self.process.stdout.fileno(), 65536):
                self.unread += text
        *lines, self.unread = self.unread.split(b"\n")
        for line in lines:
            progress = read_progress(line.decode())
            if progress:
                self.losses[int(progress["step"])] = progress["loss"]
                self.done = progress["done"]

    def move(self, node: str, folder: Path, processors: Mapping[str, int]) -> None:
        """Save it, and continue on another node."""
        assert self.process is not None
        self.used_before_s += _used_s(self.process.pid)
        self.process.terminate()
        self.process.wait()
        self.read()
        if self.done < 1:
            self.node = node
            self.start(folder, processors)


def run_jobs(
    jobs: Sequence[LocalJob], folder: Path, rule: MigrationRule, interval_s: float = 2.0
) -> list[tuple[float, Move]]:
    """Run jobs that begin together on nodes under a rule; return the moves."""
    names = sorted({job.node for job in jobs})
    processors = dict(zip(names, sorted(os.sched_getaffinity(0)), strict=False))
    began, decided = time.monotonic(), 0.0
    moves: list[tuple[float, Move]] = []
    for job in jobs:
        job.start(folder, processors)
    while any(job.ended_s is None for job in jobs):
        time.sleep(0.05)
        now = time.monotonic() - began
        running = [job for job in jobs if job.ended_s is None]
        for job in running:
            assert job.process is not None
            has_ended = job.process.poll() is not None
            job.read()
            if has_ended:
                assert job.done == 1, f"{job.name} failed"
                job.ended_s = now
        if now - decided >= interval_s:
            decided = now
            for move in rule.decide(now, [_progress(job) for job in running if not job.ended_s]):
                [job] = [one for one in jobs if one.name == move.job]
                job.move(move.target, folder, processors)
                moves.append((now, move))
    return moves


def _progress(job: LocalJob) -> JobProgress:
    assert job.process is not None
    loss = job.losses[max(job.losses)] if job.losses else None
    used_s = job.used_before_s + _used_s(job.process.pid)
    return JobProgress(job.name, job.node, loss, job.done or None, used_s)


def _used_s(pid: int) -> float:
    """Return the processor seconds of a process so far; 0 if it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def save_and_resume(steps: int, at: float, folder: Path) -> float:
    """Return the seconds that a save and a resume take, to the first progress after."""
    job = LocalJob(f"at-{at}", steps, "node")
    processors = {"node": min(os.sched_getaffinity(0))}
    job.start(folder, processors)
    while job.done < at:
        time.sleep(0.01)
        job.read()
    before = max(job.losses)
    began = time.monotonic()
    job.move("node", folder, processors)
    while max(job.losses) <= before and job.done < 1:
        time.sleep(0.005)
        job.read()
    took = time.monotonic() - began
    assert job.process is not None
    job.process.kill()
    job.process.wait()
    return took


def train_elastic(
    steps: int, sizes: Mapping[int, int], slot_s: float, began: float, results: t.Any, name: str
) -> None:
    """Train with as many worker processes as each slot has, and report the loss at the end.

    Workers give gradients of their part of each batch, and their sum does not depend on how many
    there are, but for rounding. Slots without workers wait; after the last one its size remains.
    """
    digits = Digits()
    weights = np.zeros((65, 10))
    workers: list[tuple[t.Any, Connection]] = []
    seen: list[int] = []
    step = 0
    while step < steps:
        slot = int((time.monotonic() - began) // slot_s)
        wanted = sizes.get(slot, 0) if slot <= max(sizes) else sizes[max(sizes)]
        while len(workers) > wanted:
            process, pipe = workers.pop()
            pipe.send(None)
            process.join()
        while len(workers) < wanted:
            pipe, other = multiprocessing.Pipe()
            process = _FORK.Process(target=_worker, args=(digits, other))
            process.start()
            workers.append((process, pipe))
        if seen[-1:] != [wanted]:
            seen.append(wanted)
        if not wanted:
            time.sleep(0.02)
            continue
        examples = digits.batch(step)
        parts = np.array_split(np.arange(examples.start, examples.stop), wanted)
        for (_, pipe), part in zip(workers, parts, strict=True):
            pipe.send((weights, slice(int(part[0]), int(part[-1]) + 1)))
        weights = weights - RATE / _BATCH * sum(pipe.recv() for _, pipe in workers)
        step += 1
    for process, pipe in workers:
        pipe.send(None)
        process.join()
    results.put((name, digits.loss(weights), seen, time.monotonic() - began))


def _worker(digits: Digits, pipe: Connection) -> None:
    while (asked := pipe.recv()) is not None:
        for _ in range(_HEAVY):
            gradient = digits.gradient(*asked)
        pipe.send(gradient)


def run_elastic(
    jobs: Mapping[str, tuple[int, Mapping[int, int]]], slot_s: float
) -> dict[str, tuple[float, list[int], float]]:
    """Train jobs at once, each with its steps and sizes; return their loss, sizes and end."""
    results: t.Any = _FORK.Queue()
    began = time.monotonic()
    processes = [
        _FORK.Process(target=train_elastic, args=(steps, sizes, slot_s, began, results, name))
        for name, (steps, sizes) in jobs.items()
    ]
    for process in processes:
        process.start()
    found = [results.get(timeout=600) for _ in processes]
    for process in processes:
        process.join()
    return {name: (loss, seen, end) for name, loss, seen, end in found}


if __name__ == "__main__":
    train(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), Path(sys.argv[4]))
