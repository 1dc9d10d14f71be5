"""The example of model selection under a whole Airflow gives what it gives on this machine."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import Target
from couler.ir.defaults import resolve_defaults
from couler.stages.programs import load_program
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support import airflow_stack
from tests.support.airflow_outcome import AirflowOutcome
from tests.support.airflow_stack import AirflowStack

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.checkout,
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PROGRAM = Path(__file__).parents[2] / "examples" / "model_selection" / "model_selection.py"
CLAIM = "files"
TIMES = {"seconds"}
"""What differs from run to run."""


@pytest.mark.nightly
def test_same_best_model_and_metrics(tmp_path: Path) -> None:
    if reason := airflow_stack.obstacle():
        pytest.skip(reason)
    local: t.Any = stages.run(load_program(str(PROGRAM)))
    assert local.status == "succeeded"

    target = Target(options={"files_claim": CLAIM})
    artifact = stages.compile(load_program(str(PROGRAM)), "airflow", target=target, format="python")
    with FakeCluster(tmp_path / "cluster") as cluster:
        with AirflowStack(tmp_path / "airflow", cluster) as stack:
            run = stack.run(artifact.to_text(), "model-selection")
        assert run.state == "success", run.log
        workflow = resolve_defaults(load_program(str(PROGRAM)).workflow)
        found = AirflowOutcome(workflow, run.state, t.cast(t.Any, run.states), run.xcoms)
        assert found.states == {path: step.status for path, step in local.steps.items()}
        for path in ("validate", "pick", "final-test", "evaluate", "accept"):
            wanted = values_of(local.steps[path].outputs)
            assert values_of(found.outputs[path]) == wanted, path
        report = cluster.claim(CLAIM) / run.xcoms["write_report", -1]["result"]
        assert local.outputs["verdict"] in report.read_text(encoding="utf-8")


def values_of(outputs: Mapping[str, object]) -> dict[str, object]:
    """Return outputs that are no places of files, less the times."""
    return {name: _without_times(value) for name, value in outputs.items() if not _is_place(value)}


def _is_place(value: object) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_place, value))
    return isinstance(value, str) and "/" in value


def _without_times(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _without_times(one) for key, one in value.items() if key not in TIMES}
    if isinstance(value, list | tuple):
        return [_without_times(one) for one in value]
    return value
