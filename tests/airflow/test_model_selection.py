"""The example of model selection under real Airflow gives what a run on this machine gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler import stages
from couler.backends.base import Target
from couler.cli._program import load_program
from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support.airflow_runs import Worker

pytest.importorskip("sklearn")
pytest.importorskip("matplotlib")

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.checkout,
    pytest.mark.slow,
    pytest.mark.timeout(400),
    # The libraries' own business: matplotlib 3.9 calls what pyparsing 3.3 has deprecated.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

PROGRAM = Path(__file__).parents[2] / "examples" / "model_selection" / "model_selection.py"


def test_airflow_comes_to_the_same_verdict(airflow: Worker, cluster: FakeCluster) -> None:
    here = stages.run(load_program(str(PROGRAM)))
    target = Target(options={"files_claim": "files"})
    artifact = stages.compile(load_program(str(PROGRAM)), "airflow", target=target, format="python")
    there = airflow.run(artifact.to_text(), "model-selection", cluster=cluster, limit_s=300.0)
    assert there.state == "success", there.log
    assert there.xcoms["accept", -1]["result"] == here.outputs["verdict"]
    assert there.states["reject", -1] == "skipped"
    best = here.steps["pick"].outputs
    picked = there.xcoms["pick", -1]
    assert (picked["name"], float(picked["accuracy"])) == (best["name"], best["accuracy"])
    report = cluster.claim("files") / there.xcoms["write_report", -1]["result"]
    assert here.outputs["verdict"] in report.read_text(encoding="utf-8")
