"""What of pods is refused, and what every feature of pods and settings compiles to."""

from __future__ import annotations

import typing as t

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.airflow.capabilities import CAPABILITIES
from couler.backends.base import Target, Unsupported
from couler.ir.base import FrozenDict
from couler.ir.pods import PodContainer, StepPod
from couler.ir.storage import EnvVar, Mount
from couler.ir.uses import features
from couler.ir.values import StepRef
from couler.ir.workflow import Container, Step
from tests.backends.airflow.files import calls_of
from tests.support.pod_samples import POD_SAMPLES
from tests.support.sample_flows import echo, flow

BACKEND = AirflowBackend()
WITH_FILES = Target(options={"files_claim": "files", "io_image": "couler"})


def codes_of(step: Step, **fields: t.Any) -> list[str]:
    return [one.code for one in BACKEND.check(flow(step, **fields), Target())]


def container(name: str = "db", **fields: t.Any) -> PodContainer:
    return PodContainer(name=name, image="redis", **{"command": ("redis-server",), **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"sidecars": (container("base"),)},
        {"init_containers": (container("airflow-xcom-sidecar"),)},
        {"mounts": (Mount(volume="couler", path="/a"),)},
        {"sidecars": (container(mounts=(Mount(volume="data", path="/airflow/xcom/a"),)),)},
        {"labels": FrozenDict(try_number="1")},
    ],
    ids=repr,
)
def test_names_of_airflow_are_refused(fields: dict[str, t.Any]) -> None:
    assert codes_of(echo("a", **fields)) == ["CLR371"]


def test_what_a_wrapper_runs_must_be_known() -> None:
    assert codes_of(echo("a", sidecars=(container(command=()),))) == ["CLR372"]
    assert codes_of(echo("a", init_containers=(container(command=()),))) == []
    step = Step(name="a", action=Container(image="x"), sidecars=(container(),))
    assert codes_of(step) == ["CLR372"]
    image = Step(name="a", action=Container(image="x"))
    assert codes_of(image) == []
    assert codes_of(image.model_copy(update={"working_dir": "/srv"})) == ["CLR372"]
    reads = echo("b", env=(EnvVar(name="A", value=StepRef(step="a")),))
    found = BACKEND.check(flow(image, reads), Target())
    assert [(one.code, one.step) for one in found] == [("CLR372", "a")]


@pytest.mark.parametrize(
    "patch",
    [
        {"restartPolicy": "OnFailure"},
        {"containers": ({"name": "main", "command": ["true"]},)},
        {"containers": ({"name": "base", "args": ["true"]},)},
        {"containers": ({"name": "main", "env": [{"name": "MODE", "value": "x"}]},)},
    ],
    ids=repr,
)
def test_patches_of_what_the_operator_sets_are_refused(patch: dict[str, t.Any]) -> None:
    env = (EnvVar(name="MODE", value="fast"),)
    assert codes_of(echo("a", env=env, pod=StepPod(spec_patch=patch))) == ["CLR376"]


def test_samples_of_what_is_supported_are_dag_files() -> None:
    for name, workflow in POD_SAMPLES.items():
        if not any(isinstance(CAPABILITIES[one], Unsupported) for one in features(workflow)):
            assert [*BACKEND.check(workflow, WITH_FILES)] == [], name
            found = calls_of(BACKEND.compile(workflow, WITH_FILES).to_text())
            assert found[""]["dag_id"] == workflow.name
