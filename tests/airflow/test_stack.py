"""One file under a whole Airflow: scheduler, API server, DAG processor and triggerer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support import airflow_runs
from tests.support.airflow_runs import AirflowError
from tests.support.airflow_stack import AirflowStack

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := airflow_runs.run_obstacle():
        pytest.skip(reason)


def test_a_file_runs_under_the_real_scheduler(
    cluster: FakeCluster, dag_file: Callable[[str], str], tmp_path: Path
) -> None:
    with AirflowStack(tmp_path / "airflow", cluster) as stack:
        run = stack.run(dag_file("mapped"), "mapped", limit_s=120)
        assert run.state == "success", run.log
        assert run.states["double", 1] == "skipped"
        assert run.states["after_none", -1] == "success"
        assert run.xcoms["gather", -1]["by_index"] == ["aa", None, "cc"]
        assert run.xcoms["gather", -1]["states"]["double_1"] == "skipped"
        assert run.map_labels["double", 2] == "c"
        assert "Pushing xcom" in run.logs["double", 0]
        assert len(run.pods) == 2
        stack.upload("from airflow.sdk import DAG\nraise RuntimeError('on load')\n", "broken")
        with pytest.raises(AirflowError, match="on load"):
            stack.wait_visible("broken", limit_s=60)
    assert _left(tmp_path) == []


def _left(folder: Path) -> list[str]:
    """The processes whose environment names a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            text = path.read_bytes()
        except OSError:
            continue
        if f"AIRFLOW_HOME={folder}".encode() in text:
            found.append(path.parent.name)
    return found
