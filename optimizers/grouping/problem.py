"""What is grouped: operators, the images that can run them, what costs, and what a pod holds."""

from __future__ import annotations

import heapq
import math
import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from couler.errors import GroupingError
from couler.optimizers.silent_steps import SILENT_CPU

SILENT_AT_ONCE = 2
"""How many operators run at the same time at least in a pod of which nothing is said."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a pod has at most; None is no limit."""

    cpu: float | None = None
    memory_bytes: int | None = None
    gpus: int | None = None
    steps: int | None = None
    sized_by_group: bool = False


NO_LIMITS = Limits()
"""As the paper has it."""


class Pod(t.NamedTuple):
    """What the pod of a group has; None is as much as all takes that other bounds let run."""

    cpu: float | None
    memory_bytes: float | None
    gpus: float | None
    steps: int | None
    silent_cpu: float = 0.0
    guessed_cpu: float = 0.0
    is_sized: bool = False

    @classmethod
    def of(cls, limits: Limits, most_cpu: float, most_memory_bytes: float) -> Pod:
        """Return the pod of operators of which the largest takes so much."""
        if not limits.sized_by_group:
            return cls(limits.cpu, limits.memory_bytes, limits.gpus, limits.steps)
        is_free = limits.cpu is None and limits.memory_bytes is None
        cpu = most_cpu if is_free else limits.cpu
        memory = most_memory_bytes if is_free else limits.memory_bytes
        silent = guessed = float(SILENT_CPU)
        if not most_cpu and limits.cpu is None:
            cpu, guessed = float(SILENT_AT_ONCE), 0.0
        elif not most_cpu and cpu is not None:
            cpu = float(max(1, int(cpu)))
        elif cpu is not None:
            silent = guessed = min(silent, cpu)
        return cls(cpu, memory, 1, limits.steps, silent, guessed, True)

    @classmethod
    def for_operators(cls, operators: Sequence[Operator], limits: Limits) -> Pod:
        """Return the pod of some operators."""
        most_cpu = max([one.cpu for one in operators], default=0.0)
        return cls.of(limits, most_cpu, max([one.memory_bytes for one in operators], default=0))

    def cpu_of(self, one: Operator) -> float:
        """Return the processors that an operator takes in it."""
        return one.cpu or (self.guessed_cpu if one.is_guess else self.silent_cpu)

    def shares(self, one: Operator) -> tuple[float, float, float, float]:
        """Return which part an operator takes: of processors, memory, GPUs and steps at a time."""
        gpus = bool(one.gpus) if self.is_sized else one.gpus
        return (
            self.cpu_of(one) / self.cpu if self.cpu else 0.0,
            one.memory_bytes / self.memory_bytes if self.memory_bytes else 0.0,
            gpus / self.gpus if self.gpus else 0.0,
            1.0 / self.steps if self.steps else 0.0,
        )


def busy_seconds(operators: Sequence[Operator], limits: Limits, *, is_batch: bool = True) -> float:
    """Return for how long operators keep the scarcest resource of their pod busy, in O(n)."""
    if not is_batch:
        cpu_s = sum(one.seconds * one.cpu for one in operators)
        return cpu_s / limits.cpu if limits.cpu else 0.0
    pod = Pod.for_operators(operators, limits)
    by_cpu = by_memory = by_gpus = by_steps = 0.0
    for one in operators:
        if one.seconds:
            cpu, memory, gpus, steps = pod.shares(one)
            by_cpu += one.seconds * cpu
            by_memory += one.seconds * memory
            by_gpus += one.seconds * gpus
            by_steps += one.seconds * steps
    return max(by_cpu, by_memory, by_gpus, by_steps)


def fit_at_once(operators: Sequence[Operator], limits: Limits) -> int:
    """Return how many operators of a pod run at the same time at most, the smallest first."""
    pod = Pod.for_operators(operators, limits)
    most = min(len(operators), limits.steps or len(operators))
    with_gpus = sum(one.gpus > 0 for one in operators)
    if with_gpus and pod.is_sized:
        most = min(most, len(operators) - with_gpus + 1)
    is_silent = pod.is_sized and not any(one.cpu for one in operators)
    cpu = None if is_silent and limits.cpu is None else pod.cpu
    memories: list[float] = [one.memory_bytes for one in operators]
    cpus = list(map(pod.cpu_of, operators))
    for amounts, there in ((cpus, cpu), (memories, pod.memory_bytes)):
        if there:
            enough = there * (1 + 1e-9)  # sums of fractions are rounded
            most = min(most, sum(held <= enough for held in accumulate(sorted(amounts))))
    return max(1, most)


def ancestors(befores: Sequence[Iterable[int]]) -> list[int]:
    """Return for each operator, in a topological order, all that it waits for, as bits."""
    found: list[int] = []
    for waits in befores:
        all_before = 0
        for one in waits:
            all_before |= found[one] | 1 << one
        found.append(all_before)
    return found


def chains(befores: Sequence[Iterable[int]]) -> list[list[int]]:
    """Return operators in lines of which each waits for the one before it, directly or not."""
    line_of_last: dict[int, list[int]] = {}
    lasts = 0
    found: list[list[int]] = []
    for node, all_before in enumerate(ancestors(befores)):
        last = (all_before & lasts).bit_length() - 1  # the latest, as it suits fewest others
        line = line_of_last.pop(last, None)
        if line is None:
            line = []
            found.append(line)
        else:
            lasts ^= 1 << last
        line.append(node)
        line_of_last[node] = line
        lasts |= 1 << node
    return found


Mode: t.TypeAlias = t.Literal["streaming", "batch"]
"""`streaming`: all operators run at once and pass messages on. `batch`: each runs once and ends."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A node of the graph."""

    name: str
    tags: frozenset[str] = frozenset()
    cpu: float = 1.0
    memory_bytes: int = 0
    gpus: int = 0
    seconds: float = 0.0
    is_guess: bool = False


@dataclass(frozen=True, slots=True)
class Image:
    """An image of containers."""

    name: str
    tags: frozenset[str] = frozenset()
    setup_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Edge:
    """Data that goes from an operator to another one."""

    before: str
    after: str
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Costs:
    """What a grouping costs, in a unit of the user's own."""

    intra: float = 5.0
    inter: float = 20.0
    group: float = 50.0
    per_bytes: int | None = None
    per_setup_s: float = 0.0
    per_lost_s: float = 0.0

    def __post_init__(self) -> None:
        """Refuse costs for which two groups could be better than one in all respects."""
        wrong = []
        if not 0 <= self.intra <= self.inter < math.inf:
            wrong.append(
                f"intra {self.intra} and inter {self.inter}: 0 <= intra <= inter is needed"
            )
        if self.per_bytes is not None and self.per_bytes <= 0:
            wrong.append(f"per_bytes is {self.per_bytes}: at least 1, or None")
        wrong += [
            f"{name} is {getattr(self, name)}: at least 0, and finite"
            for name in ("group", "per_setup_s", "per_lost_s")
            if not 0 <= getattr(self, name) < math.inf
        ]
        if wrong:
            raise GroupingError("these costs make no sense", wrong)


CONNECTION = Costs(intra=5.0, inter=20.0, group=50.0)
"""The connection heuristic of the paper (4.1), which calls the cost of a group "medium"; 50 is our
reading: a group more pays off if it saves four edges between groups."""

NODE = Costs(intra=5.0, inter=5.0, group=1000.0)
"""The node heuristic of the paper (4.2), which calls the cost of a group "very high"; 1000 is our
reading."""


@dataclass(frozen=True, slots=True)
class Group:
    """Operators that share a pod."""

    image: str
    operators: tuple[str, ...]


Grouping: t.TypeAlias = tuple[Group, ...]
"""Groups; where no two wait for each other, in a topological order."""


@dataclass(frozen=True)
class Problem:
    """n operators in a directed acyclic graph of m edges, and images that can run them."""

    operators: tuple[Operator, ...]
    images: tuple[Image, ...]
    edges: tuple[Edge, ...] = ()
    costs: Costs = CONNECTION
    limits: Limits = NO_LIMITS
    mode: Mode = "streaming"

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each operator."""
        return {one.name: number for number, one in enumerate(self.operators)}

    @cached_property
    def pairs(self) -> tuple[tuple[int, int, float], ...]:
        """For each edge the numbers of its operators, and how often it counts."""
        per = self.costs.per_bytes
        return tuple(
            (
                self.index[edge.before],
                self.index[edge.after],
                1.0 if per is None else edge.size_bytes / per,
            )
            for edge in self.edges
        )

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """For each operator those that read from it."""
        found: list[list[int]] = [[] for _ in self.operators]
        for before, after, _ in self.pairs:
            found[before].append(after)
        return tuple(map(tuple, found))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For each operator those that it reads from."""
        found: list[list[int]] = [[] for _ in self.operators]
        for before, after, _ in self.pairs:
            found[after].append(before)
        return tuple(map(tuple, found))

    @cached_property
    def order(self) -> tuple[int, ...]:
        """The operators in a topological order, of ready ones the first; without cycles."""
        waiting = [len(befores) for befores in self.predecessors]
        ready = [node for node, count in enumerate(waiting) if not count]
        order = []
        while ready:
            node = heapq.heappop(ready)
            order.append(node)
            for after in self.successors[node]:
                waiting[after] -= 1
                if not waiting[after]:
                    heapq.heappush(ready, after)
        return tuple(order)

    @cached_property
    def rank(self) -> tuple[int, ...]:
        """For each operator its place in `order`."""
        found = [0] * len(self.operators)
        for place, node in enumerate(self.order):
            found[node] = place
        return tuple(found)

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """For each operator how many edges the longest path to it has."""
        found = [0] * len(self.operators)
        for node in self.order:
            found[node] = max((found[one] + 1 for one in self.predecessors[node]), default=0)
        return tuple(found)

    @cached_property
    def allowed(self) -> tuple[tuple[int, ...], ...]:
        """For each operator the images that can run it."""
        return tuple(
            tuple(number for number, image in enumerate(self.images) if one.tags <= image.tags)
            for one in self.operators
        )

    @cached_property
    def masks(self) -> tuple[int, ...]:
        """For each operator the images that can run it and are of use, as bits."""
        useful = 0
        for image in self.useful_images:
            useful |= 1 << image
        return tuple(sum(1 << image for image in images) & useful for images in self.allowed)

    @cached_property
    def useful_images(self) -> tuple[int, ...]:
        """The images that no other one makes superfluous."""
        runs = [0] * len(self.images)
        for node, images in enumerate(self.allowed):
            for image in images:
                runs[image] |= 1 << node
        worth = sorted(
            range(len(self.images)),
            key=lambda image: (-runs[image].bit_count(), self.image_costs[image], image),
        )
        kept: list[int] = []
        for image in worth:
            covered = any(
                runs[image] | runs[other] == runs[other]
                and self.image_costs[other] <= self.image_costs[image]
                for other in kept
            )
            if runs[image] and not covered:
                kept.append(image)
        return tuple(sorted(kept))

    @cached_property
    def image_costs(self) -> tuple[float, ...]:
        """For each image what a group of it costs."""
        costs = self.costs
        return tuple(costs.group + costs.per_setup_s * image.setup_s for image in self.images)

    @cached_property
    def held(self) -> tuple[tuple[tuple[float, ...], float], ...]:
        """What the operators of a group hold at once: amounts of all operators, and the limit."""
        if self.mode == "batch":
            return ()
        found = []
        for name in ("memory_bytes", "gpus"):
            limit = getattr(self.limits, name)
            amounts = tuple(getattr(one, name) for one in self.operators)
            if limit is not None and sum(amounts) > limit:
                found.append((amounts, limit))
        return tuple(found)

    def cheapest_image(self, mask: int) -> int:
        """Return of some images, given as bits, the one of which a group costs least."""
        return min(bits(mask), key=lambda image: (self.image_costs[image], image))


def bits(mask: int) -> Iterable[int]:
    """Yield the numbers of the bits that are set, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low
