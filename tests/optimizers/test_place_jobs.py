"""What the pass `place` does with jobs: it looks whether their pods fit, and places none."""

from __future__ import annotations

import typing as t

import pytest

from couler.cluster.model import Cluster, Gpus, Taint
from couler.errors import InvalidWorkflowError
from couler.ir.base import freeze_json
from couler.ir.policies import Profile
from couler.ir.workflow import Container, Job, Step, Workflow
from couler.optimizers.base import PassContext
from couler.optimizers.log_text import log_text
from couler.optimizers.passes.place import Place
from couler.optimizers.pipeline import Pipeline
from tests.support.placement import machine

LAB = Cluster(
    (
        machine("c1", "cpu"),
        machine("g1", "gpu", gpus=Gpus("a100", 4), taints=(Taint("nvidia.com/gpu", "present"),)),
    )
)


def template(*, gpus: int = 0, **pod: t.Any) -> dict[str, t.Any]:
    limits = {"cpu": "2", **({"nvidia.com/gpu": gpus} if gpus else {})}
    return {"spec": {"containers": [{"name": "main", "resources": {"limits": limits}}], **pod}}


def pytorch(workers: int, gpus: int) -> dict[str, t.Any]:
    specs = {
        "Master": {"replicas": 1, "template": template()},
        "Worker": {"replicas": workers, "template": template(gpus=gpus)},
    }
    return {"kind": "PyTorchJob", "spec": {"pytorchReplicaSpecs": specs}}


def job(name: str, manifest: dict[str, t.Any], seconds: float = 10.0, **fields: t.Any) -> Step:
    action = Job(manifest=freeze_json(manifest), **fields)
    return Step(name=name, action=action, profile=Profile(seconds=seconds))


def placed(*steps: Step, cluster: Cluster = LAB) -> tuple[Workflow, PassContext]:
    context = PassContext(cluster=lambda: cluster)
    return Place().run(Workflow(name="w", steps=steps), context), context


def test_pods_that_no_machine_can_run_are_an_error_with_their_type() -> None:
    with pytest.raises(InvalidWorkflowError) as caught:
        placed(job("ddp", pytorch(workers=4, gpus=8)))
    [problem] = caught.value.diagnostics
    assert (problem.code, problem.step) == ("CLR550", "ddp")
    assert problem.message.startswith(
        'no machine of the cluster can run one pod of the Worker of step "ddp": '
    )
    assert "g1: has 4 GPUs, not the 8 that are asked for" in problem.message
    assert "c1: has no GPU" in problem.message


def test_their_room_counts_in_the_plan() -> None:
    """By hand: each of two jobs takes all four GPUs for 10 s, so one waits for the other."""
    whole = pytorch(workers=2, gpus=2)
    _, context = placed(job("one", whole), job("other", whole))
    assert "All ends after 20 s" in context.reason
    _, context = placed(job("one", whole), job("other", pytorch(workers=1, gpus=0)))
    assert "All ends after 10 s" in context.reason


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        ({"kind": "TFJob", "spec": {"tfReplicaSpecs": {"PS": {"template": template()}}}}, "1 x PS"),
        (
            {
                "kind": "MPIJob",
                "spec": {"mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": template()}}},
            },
            "1 x Launcher",
        ),
        (
            {
                "kind": "XGBoostJob",
                "spec": {"xgbReplicaSpecs": {"Worker": {"replicas": 2, "template": template()}}},
            },
            "2 x Worker",
        ),
        (
            {"kind": "Job", "spec": {"parallelism": 3, "completions": 2, "template": template()}},
            "2 x pod",
        ),
        ({"kind": "Job", "spec": {"completions": 9, "template": template()}}, "1 x pod"),
        (
            {
                "kind": "Experiment",
                "spec": {
                    "parallelTrialCount": 2,
                    "trialTemplate": {
                        "trialSpec": {"kind": "Job", "spec": {"template": template()}}
                    },
                },
            },
            "2 x trial's pod",
        ),
    ],
    ids=["tensorflow", "mpi", "xgboost", "job", "completions", "katib"],
)
def test_kinds_whose_pods_are_known(manifest: dict[str, t.Any], told: str) -> None:
    _, context = placed(job("train", manifest))
    assert f"they fit: {told} on cpu." in context.step_reasons["train"]


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (
            job("x", {"apiVersion": "ray.io/v1", "kind": "RayJob"}),
            "a resource of the kind RayJob makes are not known",
        ),
        (job("x", {"kind": "PyTorchJob"}, action="delete"), "but runs kubectl delete"),
        (job("x", {}, manifest_from="job"), "which is known only when it runs"),
    ],
    ids=["kind", "verb", "file"],
)
def test_what_is_not_known_is_told(step: Step, told: str) -> None:
    made, context = placed(step)
    assert made.steps == (step,)
    assert context.step_reasons["x"].startswith("It is not placed, nor checked: ")
    assert told in context.step_reasons["x"]


def test_what_is_not_read_of_a_manifest_is_told() -> None:
    pod = template(affinity={"nodeAffinity": {}}, nodeSelector={"zone": None})
    pod["spec"]["containers"][0]["resources"]["limits"]["memory"] = None
    _, context = placed(job("x", {"kind": "Job", "spec": {"template": pod}}))
    assert (
        "Not looked at: its amount of memory, the values of its node selector"
        in (context.step_reasons["x"])
    )


def test_the_plan_names_steps_that_stay_as_they_are() -> None:
    steps = (
        Step(name="a", action=Container(image="busybox")),
        job("x", {"apiVersion": "ray.io/v1", "kind": "RayJob"}),
    )
    _, log = Pipeline((Place(),)).run(Workflow(name="w", steps=steps), cluster=lambda: LAB)
    assert log_text(log.records).splitlines()[-1] == (
        "    = x (It is not placed, nor checked: the pods that a resource of the kind RayJob makes "
        "are not known.)"
    )
