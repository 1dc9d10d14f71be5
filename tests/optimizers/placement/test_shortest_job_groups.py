"""Algorithm 1 of the placement paper, traced by hand, and what its program does beyond it."""

from __future__ import annotations

import dataclasses

import pytest

from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.errors import UnplaceableError
from couler.optimizers.placement.problem import Pipeline, Task
from couler.optimizers.placement.speeds import Speeds
from couler.optimizers.placement.strategies.shortest_job_groups import ShortestJobGroups
from couler.optimizers.placement.strategy import ClusterState, Fixed

GIB = 2**30
LOW = ClusterNode("low", 4, 4 * GIB, group="low", architecture="arm64")
MED1 = ClusterNode("med1", 8, 16 * GIB, group="medium", cpu_flags=90)
MED2 = ClusterNode("med2", 8, 16 * GIB, group="medium", cpu_flags=80)
HIGH = ClusterNode("high", 16, 32 * GIB, group="high-cpu", cpu_flags=120)
GPU = ClusterNode("gpu", 16, 64 * GIB, group="high-gpu", gpus=Gpus("t4"))
CLUSTER = Cluster((LOW, MED1, MED2, HIGH, GPU))
STATE = ClusterState(CLUSTER, Speeds())


def fit(name: str, model: str, operations: float, gib: float) -> Pipeline:
    """Return a pipeline of the paper: 80 % of the data are trained on, 20 % evaluated on."""
    size = int(gib * GIB)
    tasks = (
        Task("prepare", "preprocessing", "", 0, size),
        Task("train", "training", model, operations, int(0.8 * size)),
        Task("evaluate", "evaluation", model, 0, int(0.2 * size)),
    )
    return Pipeline.chain(name, tasks)


def test_algorithm_1_step_by_step() -> None:
    submitted = [
        fit("cnn", "CNN", 5_000, 1),
        fit("rf", "RF", 1_000, 1),
        fit("svm", "SVM", 2_000, 10),
        fit("lr", "LR", 10, 1),
        fit("wide", "LR", 9_000, 20.5),
    ]
    found = ShortestJobGroups().place(submitted, STATE)
    # Line 11: pipelines by their operations. Loads are those before the line.
    assert found.pipelines == ("lr", "rf", "svm", "cnn", "wide")
    assert [(*key, found.nodes[key]) for key in found.order] == [
        # low 0, med1 0, med2 0, high 0, gpu 0; all have more than 2 GiB: the first of equals.
        ("lr", "prepare", "low"),
        # low 1: low or medium; the pipeline uses low, which goes before the empty med1.
        ("lr", "train", "low"),
        # low 2: low alone.
        ("lr", "evaluate", "low"),
        # low 3, all others 0.
        ("rf", "prepare", "med1"),
        # med1 1: medium or high-cpu; med1 is in use.
        ("rf", "train", "med1"),
        # med1 2: low or medium; med1 is in use.
        ("rf", "evaluate", "med1"),
        # More than 20 GiB: high and gpu, both 0.
        ("svm", "prepare", "high"),
        # More than 16 GiB: of medium and high-cpu high alone, with 1.
        ("svm", "train", "high"),
        # More than 4 GiB, which low has not: med1 3, med2 0; neither is in use.
        ("svm", "evaluate", "med2"),
        # low 3, med1 3, med2 1, high 2, gpu 0.
        ("cnn", "prepare", "gpu"),
        # gpu 1, below the limit of 3.
        ("cnn", "train", "gpu"),
        # medium or high-cpu, none in use: med1 3, med2 1, high 2.
        ("cnn", "evaluate", "med2"),
        # More than 41 GiB: gpu alone.
        ("wide", "prepare", "gpu"),
        # More than 32.8 GiB, which neither low nor medium have: the fallback is gpu, with 3.
        ("wide", "train", "gpu"),
        # More than 8.2 GiB, which low has not: of med1 3, med2 2, high 2 and gpu 4, the fallback.
        ("wide", "evaluate", "med2"),
    ]
    told = {(one.pipeline, one.task): one for one in found.choices}
    assert "is used by the pipeline already" in told["lr", "train"].why
    assert "GPUs" in told["cnn", "train"].why
    assert told["wide", "train"].why == "the fallback: the fewest tasks of all"


def test_the_limit_of_tasks_that_wait_for_a_gpu() -> None:
    submitted = [fit(f"cnn{number}", "CNN", number, 1) for number in range(4)]
    found = ShortestJobGroups(gpu_queue_limit=2).place(submitted, STATE)
    trained = [found.nodes[f"cnn{number}", "train"] for number in range(4)]
    # The third prepares its data on high, the last empty node, and is over the limit: it stays
    # there, for training and for evaluating. So high has 3 and gpu 2 when the fourth is trained:
    # over the limit, the least loaded node is taken, which is the one with the GPU.
    assert trained == ["gpu", "gpu", "high", "gpu"]


def test_unplaceable_tasks_are_all_told() -> None:
    with pytest.raises(UnplaceableError) as caught:
        ShortestJobGroups().place([fit("a", "RF", 1, 100), fit("b", "LR", 1, 50)], STATE)
    assert [(one.pipeline, one.task) for one in caught.value.tasks] == [
        ("a", "prepare"),
        ("a", "train"),
        ("b", "prepare"),
        ("b", "train"),
    ]


CODE = ShortestJobGroups(variant="published-code")


def test_the_program_prepares_data_where_there_is_the_least_memory_and_never_on_gpus() -> None:
    busy = dataclasses.replace(STATE, load={"low": 1, "med1": 1, "med2": 1, "high": 1})
    shuffled = dataclasses.replace(busy, cluster=Cluster((GPU, HIGH, MED1, LOW)))
    assert CODE.place([fit("rf", "RF", 1, 1)], busy).nodes["rf", "prepare"] == "low"
    assert CODE.place([fit("rf", "RF", 1, 1)], shuffled).nodes["rf", "prepare"] == "low"
    first = ShortestJobGroups().place([fit("rf", "RF", 1, 1)], busy)
    assert first.nodes["rf", "prepare"] == "gpu"


def test_the_program_scores_gpus_relative_to_other_loads() -> None:
    cnn = [fit("cnn", "CNN", 1, 1)]

    def node(high: int, gpu: int) -> str:
        state = dataclasses.replace(
            STATE, load={"high": high, "gpu": gpu}, fixed={("cnn", "prepare"): Fixed("low", 1.0)}
        )
        return CODE.place(cnn, state).nodes["cnn", "train"]

    assert node(high=0, gpu=2) == "gpu"  # 3 - 2 against 0
    assert node(high=0, gpu=3) == "high"  # equal, and high has less
    assert node(high=4, gpu=6) == "gpu"  # 3 - 6 against -4; Algorithm 1 would be over its limit


def test_the_program_falls_back_to_high_cpu() -> None:
    # 4.1 GiB are needed to evaluate, which low has not.
    lr = [fit("lr", "LR", 1, 10.3)]
    assert CODE.place(lr, STATE).nodes["lr", "evaluate"] == "high"
    load = dataclasses.replace(STATE, load={"high": 3})
    assert ShortestJobGroups().place(lr, load).nodes["lr", "evaluate"] != "high"
