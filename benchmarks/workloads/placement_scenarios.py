"""The pipelines and scenarios of the placement paper, and clusters to run them on.

Pipelines, their order and operations are those of Tables 6 and 7 of "Optimising ML Pipeline
Execution via Smart Task Placement" (Electronics 2025, 14(13), 2555). The operations are given to
three digits, as its published program (github.com/pedro535/ml-pipeline-placement) computes them.
The nodes of Table 5 are lost: clusters, throughputs, memory and all seconds are ours, and were
written down before any strategy ran on them.
"""

from __future__ import annotations

import math
import random
import statistics
import typing as t
from dataclasses import dataclass

from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.report import Report
from couler.optimizers.placement.speeds import Speeds

GIB = 2**30


class Row(t.NamedTuple):
    """A pipeline of Table 6: what it trains on what, and the operations of its three tasks."""

    model: str
    memory_bytes: int
    prepare: float
    train: float
    evaluate: float


def table(kib: int) -> int:
    """Return the bytes of a table, of which the published program tells the KiB in memory."""
    return kib * 1024


def images(samples: int, values: int) -> int:
    """Return the bytes of images as numbers of 8 bytes, as the published program counts them."""
    return samples * values * 8


WINE, CREDIT, ADULT, KDD, UNSW = map(table, (459, 5_859, 7_537, 162_100, 86_562))
MNIST, CIFAR = images(70_000, 784), images(60_000, 3_072)
CITRUS = images(594, 196_608)

TABLE_6 = {
    "wine-dt": Row("DT", WINE, 5.39e4, 5.14e5, 9.79e3),
    "wine-lr": Row("LR", WINE, 5.39e4, 4.31e6, 1.08e4),
    "credit-dt": Row("DT", CREDIT, 7.2e5, 8.03e6, 6.0e4),
    "adult-dt": Row("DT", ADULT, 6.84e5, 1.13e7, 1.48e5),
    "credit-lr": Row("LR", CREDIT, 7.2e5, 5.52e7, 1.38e5),
    "adult-lr": Row("LR", ADULT, 6.84e5, 7.12e7, 1.78e5),
    "credit-rf": Row("RF", CREDIT, 7.2e5, 7.73e8, 7.53e6),
    "unsw-svm": Row("SVM", UNSW, 1.11e7, 8.45e9, 2.11e6),
    "unsw-rf": Row("RF", UNSW, 1.11e7, 1.44e10, 1.03e8),
    "kdd-svm": Row("SVM", KDD, 2.03e7, 1.62e10, 4.05e6),
    "kdd-rf": Row("RF", KDD, 2.03e7, 2.92e10, 1.98e8),
    "unsw-dnn": Row("DNN", UNSW, 1.11e7, 3.0e11, 2.5e9),
    "mnist-dnn": Row("DNN", MNIST, 5.49e7, 3.42e11, 2.85e9),
    "fashion-dnn": Row("DNN", MNIST, 5.49e7, 3.42e11, 2.85e9),
    "credit-svm": Row("SVM", CREDIT, 7.2e5, 1.32e12, 8.28e8),
    "cifar-cnn": Row("CNN", CIFAR, 1.84e8, 7.46e12, 1.24e11),
    "fashion-cnn": Row("CNN", MNIST, 5.49e7, 8.93e12, 7.45e10),
    "citrus-cnn": Row("CNN", CITRUS, 1.17e8, 1.79e13, 1.48e11),
}

SCENARIO_1 = (
    *("unsw-rf", "credit-lr", "cifar-cnn", "adult-lr", "adult-dt"),
    *("kdd-rf", "unsw-svm", "credit-dt", "kdd-svm", "mnist-dnn"),
)
SCENARIO_2 = (
    ("kdd-rf", "adult-dt", "credit-lr", "credit-svm", "mnist-dnn", "cifar-cnn"),
    ("fashion-cnn", "wine-dt", "kdd-svm", "adult-lr", "unsw-rf", "unsw-dnn"),
    ("fashion-dnn", "unsw-svm", "wine-lr", "credit-dt", "citrus-cnn", "credit-rf"),
)
GROUPS_APART_S = 240.0
"""Between the groups of the second scenario."""

SEEDS = (0, 1, 2, 42, 1234)
"""Of what is drawn at random: those of the published program."""

PAPER_S = {
    "sjf-groups": ("285", "54.3"),
    "kubernetes": ("404", "-"),
    "random": ("859-891", "246-282"),
    "fcfs-random": ("859-891", "246-282"),
    "fcfs-round-robin": ("859-891", "246-282"),
}
"""Total time and mean waiting of scenario 1, section 6.5.1; which baseline is which is lost."""


@dataclass(frozen=True)
class Machines:
    """A cluster, how fast it is, and how fast its kernel machines are."""

    cluster: Cluster
    speeds: Speeds
    kernel: dict[str, float]
    """Operations per second of training and evaluating kernel SVMs, by group."""


# Operations per second of one node of the group medium. A kernel SVM is mostly inner products of
# dense rows, of which a processor does far more in a second than of the steps of a linear solver.
BASE = {"": 2e7, "DT": 2e7, "LR": 1e8, "RF": 4e8, "SVM": 2e8, "DNN": 1e10, "CNN": 2e10}
KERNEL = 1e10

# How many times as fast other groups are. Trees, networks and kernels use all processors; linear
# solvers and preparing data one, so that more of them help little.
PARALLEL = {"low": 0.25, "medium": 1.0, "high-cpu": 2.0, "high-gpu": 2.0}
SERIAL = {"low": 0.4, "medium": 1.0, "high-cpu": 1.3, "high-gpu": 1.3}
USES_ALL = ("RF", "DNN", "CNN")
ON_GPU = {"DNN": 10.0, "CNN": 25.0}
"""A GPU does so many times what a node of the group medium does; small networks do not fill it."""

START_S = 5.0
BANDWIDTH = 125e6

SHAPES = {
    "low": (4.0, 4 * GIB, 0.05, 60),
    "medium": (8.0, 16 * GIB, 0.20, 90),
    "high-cpu": (16.0, 32 * GIB, 0.50, 120),
    "high-gpu": (16.0, 64 * GIB, 1.50, 120),
}
"""Processors, memory, US dollars per hour and flags of a node's processors, by group."""


def node(group: str, number: int, architecture: str) -> ClusterNode:
    cpu, memory, price, flags = SHAPES[group]
    return ClusterNode(
        f"{group}-{number}",
        cpu,
        memory,
        group=group,
        architecture=architecture,
        gpus=Gpus("t4", memory_bytes=16 * GIB) if group == "high-gpu" else None,
        price_usd_per_h=price,
        cpu_flags=flags,
    )


def declared() -> Machines:
    """Return the 10 nodes: 3 low, 3 medium, 3 high-cpu and one with a GPU; 4 of them are arm64."""
    nodes = (
        *(node("low", number, "arm64") for number in (1, 2, 3)),
        *(node("medium", number, "arm64" if number == 1 else "amd64") for number in (1, 2, 3)),
        *(node("high-cpu", number, "amd64") for number in (1, 2, 3)),
        node("high-gpu", 1, "amd64"),
    )
    return machines(Cluster(nodes, "declared"), dict.fromkeys(("", *BASE, "kernel"), 1.0))


def machines(cluster: Cluster, factor: dict[str, float], gpu: float = 1.0) -> Machines:
    """Return how fast a cluster is, models being some factor as fast as they are declared."""
    rates: dict[tuple[str, str], float] = {}
    for model, base in BASE.items():
        for group in SHAPES:
            times = (PARALLEL if model in USES_ALL else SERIAL)[group]
            if group == "high-gpu" and model in ON_GPU:
                times = ON_GPU[model] * gpu
            rates[model, group] = base * times * factor[model]
    kernel = {group: KERNEL * PARALLEL[group] * factor["kernel"] for group in SHAPES}
    return Machines(cluster, Speeds(rates, BANDWIDTH, start_s=START_S), kernel)


def sampled(seed: int) -> Machines:
    """Return 10 nodes drawn at random: 3 low, one with a GPU, and 6 medium or high-cpu ones.

    Each low or medium node is arm64 with a chance of a half; each node has the speed of its group
    times 2 to the power of a number drawn from -0.5 to 0.5, each model that times 2 to the power of
    one from -1 to 1, and GPUs another such factor.
    """
    draws = random.Random(f"machines/{seed}")
    medium = draws.randint(2, 4)
    groups = ["low"] * 3 + ["medium"] * medium + ["high-cpu"] * (6 - medium) + ["high-gpu"]
    counts: dict[str, int] = {}
    nodes = []
    for group in groups:
        counts[group] = counts.get(group, 0) + 1
        is_arm = group in ("low", "medium") and draws.random() < 0.5
        nodes.append(node(group, counts[group], "arm64" if is_arm else "amd64"))
    factor = {model: 2 ** draws.uniform(-1, 1) for model in (*BASE, "kernel")}
    found = machines(Cluster(tuple(nodes), f"sampled {seed}"), factor, 2 ** draws.uniform(-1, 1))
    rates = dict(found.speeds.rates)
    kernel = dict(found.kernel)
    for one in nodes:
        times = 2 ** draws.uniform(-0.5, 0.5)
        for model in BASE:
            rates[model, one.name] = found.speeds.rates[model, one.group] * times
        kernel[one.name] = found.kernel[one.group] * times
    return Machines(found.cluster, Speeds(rates, BANDWIDTH, start_s=START_S), kernel)


def mistaken(speeds: Speeds, seed: int, most: float = 2.0) -> Speeds:
    """Return speeds that are each off by a factor of at most `most`, to either side."""
    draws = random.Random(f"mistaken/{seed}")
    rates = {key: rate * most ** draws.uniform(-1, 1) for key, rate in sorted(speeds.rates.items())}
    return Speeds(rates, speeds.bandwidth_bytes_per_s, speeds.latency_s, speeds.start_s)


def pipeline(name: str, kernel: dict[str, float], arrival_s: float = 0.0) -> Pipeline:
    """Return a pipeline of Table 6: 80 % of its data are trained on, 20 % evaluated on."""
    row = TABLE_6[name]
    train, test = math.floor(0.8 * row.memory_bytes), math.floor(0.2 * row.memory_bytes)
    seconds: list[dict[str, float]] = [{}, {}]
    if name == "credit-svm":
        seconds = [
            {place: work / rate for place, rate in kernel.items()}
            for work in (row.train, row.evaluate)
        ]
    tasks = (
        Task("prepare", "preprocessing", "", row.prepare, row.memory_bytes),
        Task("train", "training", row.model, row.train, train, seconds[0]),
        Task("evaluate", "evaluation", row.model, row.evaluate, test, seconds[1]),
    )
    return Pipeline.chain(name, tasks, arrival_s=arrival_s, moved_bytes=(train, test))


def scenario(number: int, kernel: dict[str, float]) -> list[Pipeline]:
    """Return the pipelines of a scenario, in the order in which they are submitted."""
    groups = (SCENARIO_1,) if number == 1 else SCENARIO_2
    return [
        pipeline(name, kernel, at * GROUPS_APART_S)
        for at, names in enumerate(groups)
        for name in names
    ]


def everything(kernel: dict[str, float]) -> list[Pipeline]:
    """Return all 18 pipelines, submitted at once: more than there are nodes."""
    return [pipeline(name, kernel) for names in SCENARIO_2 for name in names]


def mean_waiting_s(report: Report) -> float:
    """Return the mean over pipelines of how long they wait."""
    return statistics.fmean(one.waiting_s for one in report.pipelines)
