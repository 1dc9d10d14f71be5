"""What pods, their containers and runs are told, in manifests of Argo."""

from __future__ import annotations

import json
import typing as t

import pytest

from couler.backends.argo import ArgoBackend
from couler.backends.base import Target
from couler.ir.base import FrozenDict
from couler.ir.pods import ContainerSettings, PodContainer, StepPod
from couler.ir.policies import Foreach
from couler.ir.values import Field, ItemRef, Literal
from couler.ir.workflow import Schedule, Script, Step, Workflow
from tests.support.features.pods import DATABASE
from tests.support.pod_samples import POD_SAMPLES
from tests.support.sample_flows import echo, flow

BACKEND = ArgoBackend()
TAG = "{{workflow.name}}"


def manifest(workflow: Workflow) -> dict[str, t.Any]:
    text = BACKEND.compile(workflow, Target(), format="json").to_text()
    return t.cast("dict[str, t.Any]", json.loads(text))


def template(workflow: Workflow, name: str = "a") -> dict[str, t.Any]:
    [found] = [one for one in manifest(workflow)["spec"]["templates"] if one["name"] == name]
    return t.cast("dict[str, t.Any]", found)


def spec(name: str) -> dict[str, t.Any]:
    return t.cast("dict[str, t.Any]", manifest(POD_SAMPLES[name])["spec"])


def test_a_typed_step_shares_a_folder_that_others_name() -> None:
    typed = Script(image="python:3.12-slim", source="pass", function="a")
    beside = PodContainer(name="put", image="busybox", args=("$COULER_WORK/x",), mirror_mounts=True)
    found = template(flow(Step(name="a", action=typed, init_containers=(beside,))))
    mounts = found["script"]["volumeMounts"]
    assert mounts == [{"name": "couler-work", "mountPath": "/tmp/couler"}]


@pytest.mark.parametrize("value", [ItemRef(), Field(of=ItemRef(), path=(0,))])
def test_containers_read_items(value: t.Any) -> None:
    """A part of an item makes a template of its own, through which it reaches the container."""
    reader = DATABASE.model_copy(update={"args": (value,)})
    over = Foreach(over={"item": Literal(value=((1, 2), (3, 4)))})
    text = json.dumps(manifest(flow(echo("a", foreach=over, sidecars=(reader,)))))
    assert "container_db_1" in text
    assert "item" in text


def test_scheduled_runs_have_fixed_labels_from_their_beginning() -> None:
    workflow = POD_SAMPLES["runs-with-all-settings"].model_copy(
        update={"schedule": Schedule(cron=("0 3 * * *",))}
    )
    cron = manifest(workflow)["spec"]
    assert cron["workflowMetadata"] == {
        "labels": {"team": "ml"},
        "annotations": {"note": "all of it"},
    }
    computed = cron["workflowSpec"]["workflowMetadata"]
    assert set(computed) == {"labelsFrom"}
    assert set(computed["labelsFrom"]) == {"database", "example.org/what", "run"}


def test_a_display_name_is_that_of_the_template() -> None:
    found = template(POD_SAMPLES["pod-of-a-step"])
    assert found["annotations"] == {"workflows.argoproj.io/display-name": "first.step"}
    assert "metadata" not in found


@pytest.mark.parametrize(
    "fields",
    [
        {
            "container": ContainerSettings(
                lifecycle={"preStop": {"exec": {"command": ["{{item}}"]}}}
            )
        },
        {"pod": StepPod(spec_patch=FrozenDict(hostname=TAG))},
        {
            "sidecars": (
                DATABASE.model_copy(
                    update={
                        "settings": ContainerSettings(
                            liveness_probe={"exec": {"command": ["{{=1}}"]}}
                        )
                    }
                ),
            )
        },
    ],
)
def test_tags_in_objects_of_kubernetes_are_refused(fields: dict[str, t.Any]) -> None:
    [problem] = BACKEND.check(flow(echo("a", **fields)), Target())
    assert problem.code == "CLR310"
