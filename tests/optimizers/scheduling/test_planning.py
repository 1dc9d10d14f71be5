"""Plans of jobs of workflows: which are planned, and what a plan that is under way keeps."""

from __future__ import annotations

import math
import typing as t

import pytest

import couler
from couler import stages
from couler.cluster.controller import PlannedJob
from couler.cluster.model import Cluster, ClusterNode, Gpus
from couler.cluster.objects import node_of, read_progress, size_of, with_node, with_size
from couler.errors import PlacementError
from couler.optimizers.scheduling.planning import (
    ClusterJob,
    PlanOptions,
    free_gpus,
    plan_nodes,
    plan_sizes,
    training_jobs,
)
from couler.steps import pytorch, tensorflow

GIB = 2**30
BIG = ClusterNode("big", 32, 128 * GIB, gpus=Gpus("A100", 4))
SMALL = ClusterNode("small", 8, 16 * GIB)
OPTIONS = PlanOptions("oasis", 900.0, 8, "calibrated", 30.0)
WORK = couler.Elastic(epochs=10, chunks=4, batches=100, batch_s=3.6)


def torch(name: str, elastic: couler.Elastic = WORK, **options: t.Any) -> object:
    given = {"num_workers": 1, "gpu": 1, **options}
    return pytorch.train(image="i", command="c", step_name=name, elastic=elastic, **given)


def jobs(workflow: couler.Workflow) -> list[ClusterJob]:
    return training_jobs([stages.plan(workflow, passes=()).workflow])


def one_job(**options: t.Any) -> list[ClusterJob]:
    with couler.Workflow("work") as wf:
        torch("t", **options)
    return jobs(wf)


def test_jobs_in_plain_groups_are_planned_under_valid_names() -> None:
    with couler.Workflow("work") as wf:
        with couler.group("g_"):
            torch("b")
        torch("A" * 60)
    names = [job.name for job in jobs(wf)]
    assert names[0] == "work-g-b"
    assert len(names[1]) == 45
    assert names[1].startswith("work-aaa")


def test_what_depends_on_the_run_around_a_job_is_refused() -> None:
    with couler.Workflow("work") as wf:
        asked = couler.run_container("i", ["c"], output={"x": "/x"})
        with couler.when(asked == "y"), couler.group("g"):
            torch("t")
    with pytest.raises(PlacementError, match=r'"g" of work is known only when|waits for other'):
        jobs(wf)


def test_all_pods_of_a_job_must_fit_on_its_node() -> None:
    [planned] = plan_nodes(one_job(), Cluster((SMALL, BIG)))
    assert (planned.node, planned.hosts, planned.gpus) == ("big", {"big": "big"}, 2)
    with pytest.raises(PlacementError, match="has less gpu than all its pods request"):
        plan_nodes(one_job(num_workers=7), Cluster((SMALL, BIG)))


def test_gpus_are_not_shared() -> None:
    with couler.Workflow("work") as wf:
        for number in range(3):
            torch(f"t{number}")
    with pytest.raises(PlacementError, match="no node can host work-t2: big has no free GPUs"):
        plan_nodes(jobs(wf), Cluster((BIG,)))
    first = plan_nodes(jobs(wf)[:1], Cluster((BIG,)))
    assert free_gpus(BIG, first) == 2
    first[0].state = "succeeded"
    assert free_gpus(BIG, first) == 4


def test_nodes_of_pools_have_no_real_names() -> None:
    node = ClusterNode("p-1", 32, 128 * GIB, pool="p", gpus=Gpus("A100", 4))
    with pytest.raises(PlacementError, match="moves need the real names of nodes"):
        plan_nodes(one_job(), Cluster((node,)))


def test_a_job_that_never_fits_sets_no_price() -> None:
    with couler.Workflow("work") as wf:
        torch("huge", couler.Elastic(epochs=9000, chunks=4, batches=100, batch_s=3.6, priority=1e3))
        torch("small")
    planned, prices = plan_sizes(jobs(wf), Cluster((BIG,)), OPTIONS)
    assert [job.state for job in planned] == ["rejected", "waiting"]
    assert all(price == 0 for row in prices for price in row.values())


def test_jobs_that_are_under_way_keep_their_machines_after_their_last_slot_too() -> None:
    cluster = Cluster((BIG,))
    [job] = one_job()
    late = PlannedJob(job.name, job.manifest, "running", slots={"0": ({"big": 4}, {})})
    with couler.Workflow("other") as wf:
        torch("t")
    [planned], _ = plan_sizes(jobs(wf), cluster, OPTIONS, running=[late], first=3)
    assert "3" not in {slot for slot, (workers, _) in planned.slots.items() if workers}
    late.state = "succeeded"
    [planned], _ = plan_sizes(jobs(wf), cluster, OPTIONS, running=[late], first=3)
    assert planned.slots["3"] == ({"big": 4}, {})


def test_nodes_of_parameter_servers_stay_theirs_when_new_jobs_have_none() -> None:
    with couler.Workflow("words") as wf:
        tensorflow.train(
            image="i",
            command="c",
            num_workers=1,
            num_ps=1,
            cpu=1,
            ps_resources={"cpu": 8},
            step_name="t",
            elastic=WORK,
        )
    cluster = Cluster((BIG, SMALL))
    running, _ = plan_sizes(jobs(wf), cluster, OPTIONS)
    [planned], _ = plan_sizes(one_job(gpu=None, cpu=8), cluster, OPTIONS, running=running)
    assert {name for workers, _ in planned.slots.values() for name in workers} == {"big"}


def test_a_node_that_the_cluster_file_has_no_more() -> None:
    [job] = one_job()
    gone = PlannedJob(job.name, job.manifest, "running", slots={"0": ({"gone": 1}, {})})
    with pytest.raises(PlacementError, match="the plan uses the node gone"):
        plan_sizes([], Cluster((BIG,)), OPTIONS, running=[gone])


def test_a_table_too_large_to_hold_is_refused() -> None:
    work = couler.Elastic(epochs=10_000, chunks=100, batches=100, batch_s=1.0)
    options = PlanOptions("oasis", 100.0, 10_000, "calibrated", 30.0)
    with pytest.raises(PlacementError, match="too many to plan"):
        plan_sizes(one_job(elastic=work), Cluster((BIG,)), options)


def test_the_worker_that_is_the_master_counts_with_its_own_request() -> None:
    found = one_job(master_resources={"gpu": 2, "cpu": 9})
    [planned], _ = plan_sizes(found, Cluster((BIG,)), OPTIONS)
    assert planned.slots["0"] == ({"big": 2}, {})


def test_sizes_and_nodes_of_objects() -> None:
    [job] = one_job()
    manifest = job.manifest
    assert size_of(manifest) == 2
    found = with_size(manifest, 5)["spec"]
    assert found["pytorchReplicaSpecs"] == {"Worker": {"replicas": 4}}
    # A job that is suspended keeps its replicas: operators refuse one without.
    assert with_size(manifest, 0) == {"spec": {"runPolicy": {"suspend": True}}}
    moved = with_node(manifest, "host-1")
    assert node_of(moved) == "host-1"
    assert node_of(manifest) is None
    assert moved["spec"]["pytorchReplicaSpecs"].keys() == {"Master", "Worker"}


@pytest.mark.parametrize(
    "text", ['{"loss": "0.5"}', "[1]", "[" * 100_000, '{"done": NaN}', '{"loss": 1e999}', "{}"]
)
def test_progress_that_is_no_number_is_none(text: str) -> None:
    assert read_progress(f"couler-progress {text}") == {}


def test_annotations_that_state_no_work() -> None:
    for given in ("x", {"couler/elastic": "{"}, {"couler/elastic": '{"epochs": 1}'}):
        with pytest.raises(ValueError, match="the annotation couler/elastic"):
            couler.Elastic.of({"metadata": {"annotations": given}})
    assert couler.Elastic.of({"metadata": {}}) is None
    assert math.isclose(couler.Elastic.of(one_job()[0].manifest).batch_s, 3.6)  # type: ignore[union-attr]
