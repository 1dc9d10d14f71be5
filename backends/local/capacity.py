"""What this machine has, and what steps ask of it."""

from __future__ import annotations

import functools
import math
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from couler.backends.base import RunOptions
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import Resources
from couler.ir.quantity import parse_quantity
from couler.ir.walk import all_steps, scopes
from couler.ir.workflow import Container, Script, Step, Workflow

TOO_LARGE_CODE = "CLR364"
"""A step asks for more than this machine has."""

_CGROUP = Path("/sys/fs/cgroup")
_SMI_S = 10


@dataclass(frozen=True, slots=True)
class Need:
    """What a step takes while it runs."""

    jobs: int = 1
    cpus: float = 0.0
    memory_bytes: int = 0
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """What the steps of a run can take at the same time."""

    jobs: int
    cpus: float
    memory_bytes: int
    gpus: tuple[str, ...] = ()

    @classmethod
    def choose(cls, options: RunOptions, workflow: Workflow | None = None) -> Capacity:
        """Return what a run is given: what this process may use, unless it is told otherwise."""
        cpus = _cpus() if options.cpus is None else options.cpus
        asked = workflow is None or any(need_of(step).gpus for step in all_steps(workflow))
        gpus = _gpus() if asked else ()
        if options.gpus is not None:
            gpus = (gpus or tuple(map(str, range(options.gpus))))[: options.gpus]
        return cls(
            jobs=max(1, math.ceil(_cpus())) if options.jobs is None else options.jobs,
            cpus=cpus,
            memory_bytes=_memory() if options.memory_bytes is None else options.memory_bytes,
            gpus=gpus,
        )

    def lacks(self, need: Need) -> Iterator[str]:
        """Yield in words what of a need this machine can never give."""
        if need.cpus > self.cpus:
            yield f"{need.cpus:g} CPUs, but there are {self.cpus:g}"
        if need.memory_bytes > self.memory_bytes:
            yield f"{_gib(need.memory_bytes)} of memory, but there are {_gib(self.memory_bytes)}"
        if need.gpus > len(self.gpus):
            yield f"{need.gpus} GPUs, but there are {len(self.gpus) or 'none'}"


def need_of(step: Step) -> Need:
    """Return what a step declares; nothing but a job for what it does not."""
    if not isinstance(step.action, Container | Script):
        return Need(jobs=0)
    if step.sidecars or step.init_containers:
        return _need_of_pod(step)
    return _need_of(step.resources)


def _need_of_pod(step: Step) -> Need:
    """Return what a step takes with the containers beside it, and each one before it, at most."""
    together = [_need_of(step.resources), *(_need_of(one.resources) for one in step.sidecars)]
    alone = [_need_of(one.resources) for one in step.init_containers]
    return Need(
        cpus=max(sum(need.cpus for need in together), *(need.cpus for need in alone), 0.0),
        memory_bytes=max(
            sum(need.memory_bytes for need in together), *(need.memory_bytes for need in alone), 0
        ),
        gpus=max(sum(need.gpus for need in together), *(need.gpus for need in alone), 0),
    )


def _need_of(asked: Resources | None) -> Need:
    if asked is None:
        return _ONE_JOB
    cpu = asked.cpu or asked.cpu_limit
    memory = asked.memory or asked.memory_limit
    return Need(
        cpus=0.0 if cpu is None else float(parse_quantity(cpu)),
        memory_bytes=0 if memory is None else math.ceil(parse_quantity(memory)),
        gpus=0 if asked.gpu is None else asked.gpu.count,
    )


def check_needs(workflow: Workflow, capacity: Capacity) -> Iterator[Diagnostic]:
    """Yield each step that asks for more than there is, and so would wait for ever."""
    for scope in scopes(workflow):
        for step in scope.steps:
            lacking = ", and ".join(capacity.lacks(need_of(step)))
            if lacking:
                path = scope.path_of(step)
                yield Diagnostic(
                    TOO_LARGE_CODE,
                    f'step "{path}" asks for {lacking} for this run. '
                    "Ask for less, allow the run more (--cpus, --memory, --gpus), or run it "
                    "on a cluster",
                    step=path,
                    source=step.source,
                )


_ONE_JOB = Need()


def _cpus() -> float:
    if hasattr(os, "sched_getaffinity"):
        here = float(len(os.sched_getaffinity(0)))
    else:
        here = float(os.cpu_count() or 1)
    quota = _read_limits("cpu.max")
    if len(quota) == 2 and quota[0] != "max":
        here = min(here, int(quota[0]) / int(quota[1]))
    return here


def _memory() -> int:
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _read_limits("memory.max")
    return min(here, int(limit[0])) if limit and limit[0] != "max" else here


def _read_limits(name: str) -> list[str]:
    """Read a limit of the control group that a container of version 2 sees as its root."""
    try:
        return (_CGROUP / name).read_text(encoding="ascii").split()
    except OSError:  # no such limit here
        return []


def _gpus() -> tuple[str, ...]:
    """Return the graphics processors: those made visible, else those that the driver lists."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = [name.strip() for name in visible.split(",")]
        # Programs see those before the first that does not exist.
        end = next((at for at, name in enumerate(names) if name in ("", "-1")), len(names))
        return tuple(names[:end])
    return _listed_gpus()


@functools.cache
def _listed_gpus() -> tuple[str, ...]:
    if shutil.which("nvidia-smi") is None:
        return ()
    try:
        listed = subprocess.run(
            ["nvidia-smi", "--list-gpus"],
            capture_output=True,
            text=True,
            timeout=_SMI_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):  # a driver without a device
        return ()
    return tuple(str(index) for index, _ in enumerate(listed.stdout.splitlines()))


def _gib(size: float) -> str:
    return f"{size / 2**30:.3g} GiB"
