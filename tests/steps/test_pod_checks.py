"""Pods of jobs are checked by the rules for those of a workflow's own steps."""

from __future__ import annotations

import typing as t

import pytest

import couler
from couler import Toleration, VolumeMount
from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.diagnostics import Diagnostic
from couler.ir.storage import ConfigKey, SecretKey
from couler.steps import katib, mpi, pytorch, tensorflow, trainer
from tests.dsl.look import codes, problems

TUNED = [{"name": "lr", "type": "double", "range": [0, 1]}]
OBJECTIVE = {"type": "maximize", "metric_name": "accuracy"}

CALLS: dict[str, t.Callable[..., object]] = {
    "tensorflow": lambda **more: tensorflow.train(command=["x"], num_workers=2, **more),
    "pytorch": lambda **more: pytorch.train(command=["x"], num_workers=2, **more),
    "mpi": lambda **more: mpi.train(command=["x"], **more),
    "trainer": lambda **more: trainer.train(command=["x"], **more),
    "katib": lambda **more: katib.run(
        tuning_params=TUNED, objective=OBJECTIVE, command=["x"], **more
    ),
}
WITH_LABELS = ("tensorflow", "pytorch", "mpi")

WRONG: list[tuple[dict[str, t.Any], str]] = [
    ({"image": "bad image:1"}, "CLR408"),
    ({"node_selector": {"a b": "c"}}, "CLR412"),
    ({"node_selector": {"a": "c d"}}, "CLR412"),
    ({"tolerations": [Toleration("a", seconds=3)]}, "CLR417"),
    ({"env": {"1 A": "x"}}, "CLR413"),
    ({"env": {"A": SecretKey(secret="a", key="a b")}}, "CLR411"),
    ({"env": {"A": ConfigKey(config_map="A A", key="a")}}, "CLR411"),
    ({"volume_mounts": [VolumeMount("v", "here")]}, "CLR415"),
    ({"volume_mounts": [VolumeMount("v", "/a", sub_path="../x")]}, "CLR415"),
    ({"volume_mounts": [VolumeMount("v", "/a"), VolumeMount("w", "/a/")]}, "CLR416"),
    ({"volume_mounts": [VolumeMount("V W", "/a")]}, "CLR150"),
    ({"volume_mounts": [VolumeMount(t.cast(str, 3), "/a")]}, "CLR105"),
]


@pytest.mark.parametrize(("options", "code"), WRONG)
@pytest.mark.parametrize("kind", CALLS)
def test_what_a_container_cannot_have_no_pod_of_a_job_has(
    kind: str, options: dict[str, t.Any], code: str
) -> None:
    with couler.Workflow("w") as wf:
        CALLS[kind](**{"image": "a:1", **options})
    assert codes(wf) == [code]


@pytest.mark.parametrize("name", ["pod_labels", "pod_annotations"])
@pytest.mark.parametrize("kind", WITH_LABELS)
def test_labels_and_annotations_of_pods(kind: str, name: str) -> None:
    with couler.Workflow("w") as wf:
        CALLS[kind](image="a:1", **{name: {"-bad-": "x"}})
    assert codes(wf) == ["CLR412"]


def test_labels_of_the_pods_of_trials() -> None:
    with couler.Workflow("w") as wf:
        CALLS["katib"](image="a:1", primary_pod_labels={"role": "-bad-"})
    assert codes(wf) == ["CLR412"]


def test_a_container_is_told_the_same() -> None:
    with couler.Workflow("w") as wf:
        couler.run_container("bad image:1", ["x"], node_selector={"a b": "c"}, step_name="a")
    with couler.Workflow("w") as other:
        pytorch.train("bad image:1", ["x"], node_selector={"a b": "c"}, step_name="a")
    found, told = ([one.message for one in problems(both)] for both in (wf, other))
    assert found == told


@pytest.mark.parametrize("kind", ["pytorch", "trainer"])
def test_secrets_have_names_of_kubernetes(kind: str) -> None:
    with couler.Workflow("w") as wf:
        couler.obtain_secret(["key"], name="Bad Name")
        CALLS[kind](image="a:1", secret="Bad Name", local=False)
    assert set(codes(wf)) == {"CLR411"}
    assert any('step "' in one.message for one in problems(wf))


def test_an_empty_first_word_of_a_command() -> None:
    with couler.Workflow("w") as wf:
        pytorch.train("a:1", ["", "x"], local=False)
    assert codes(wf) == ["CLR409"]


def test_an_image_of_one_replica_and_values_of_the_workflow() -> None:
    with couler.Workflow("w", image="a:1", runtime="torch") as wf:
        pytorch.train(wf.params.image, ["x"], num_workers=1, worker_image="b b", step_name="a")
        trainer.train(wf.params.runtime, wf.params.image, ["x"], step_name="b")
    assert codes(wf) == ["CLR408"]


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"runtime": "Torch Distributed"}, "training runtime"),
        ({"queue": "My queue"}, "queue"),
        ({"dataset_uri": "s3://a", "dataset_secret": "S 1"}, "secret"),
        ({"pretrained_uri": "s3://a", "pretrained_secret": "S 1"}, "secret"),
    ],
)
def test_what_a_trainjob_names_has_names_of_kubernetes(
    options: dict[str, t.Any], what: str
) -> None:
    with couler.Workflow("w") as wf:
        trainer.train(**options)
    [problem] = problems(wf)
    assert problem.code == "CLR411"
    assert f"is no name of a {what}" in problem.message


@pytest.mark.parametrize("kind", CALLS)
def test_a_tag_of_argo_reaches_the_program_of_a_job_that_the_run_does_not_own(kind: str) -> None:
    def found(**options: t.Any) -> list[Diagnostic]:
        with couler.Workflow("w") as wf:
            CALLS[kind](image="a:1", args=["{{workflow.name}} $(X)"], **options)
        assert codes(wf) == []
        return list(ArgoBackend().check(wf.to_ir(), Target()))

    [problem] = found()
    assert problem.code == "CLR310"
    assert "set_owner_reference=False" in problem.message
    assert found(set_owner_reference=False) == []
