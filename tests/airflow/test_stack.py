"""One file under a whole Airflow: scheduler, API server, DAG processor and triggerer."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.support import airflow_stack
from tests.support.airflow_runs import AirflowError
from tests.support.airflow_stack import AirflowStack

pytestmark = [pytest.mark.airflow, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(autouse=True)
def _possible() -> None:
    if reason := airflow_stack.obstacle():
        pytest.skip(reason)


def test_a_file_runs_under_the_real_scheduler(
    cluster: FakeCluster, dag_file: Callable[[str], str], tmp_path: Path
) -> None:
    with AirflowStack(tmp_path / "airflow", cluster) as stack:
        run = stack.run(dag_file("mapped"), "mapped")
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
            stack.wait_visible("broken")
        _write_much(stack, "mapped")
        assert len(_processes(tmp_path / "airflow")) >= 4
        assert _strangers(tmp_path / "airflow") == []
    assert _processes(tmp_path / "airflow") == []


def _write_much(stack: AirflowStack, dag_id: str) -> None:
    """Start runs while the DAG is switched on; one that waits for another must not stop both."""
    with ThreadPoolExecutor(4) as threads:
        asked = [
            threads.submit(ask, dag_id) for _ in range(40) for ask in (stack.trigger, stack.unpause)
        ]
        for one in asked:
            one.result()


def _processes(home: Path) -> list[Path]:
    """The processes that have a folder as Airflow's home."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"AIRFLOW_HOME={home}\0".encode() in (path / "environ").read_bytes():
                found.append(path)
    return found


def _strangers(home: Path) -> list[str]:
    """The addresses that these processes listen at, but for those of this machine alone."""
    inodes = {
        os.readlink(link).removeprefix("socket:[").removesuffix("]")
        for path in _processes(home)
        for link in _links(path / "fd")
    }
    found = []
    for table, own in (("tcp", "0100007F"), ("tcp6", "00000000000000000000000001000000")):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            address, state, inode = fields[1], fields[3], fields[9]
            if state == "0A" and inode in inodes and address.partition(":")[0] != own:
                found.append(f"{table} {address}")
    return found


def _links(folder: Path) -> list[Path]:
    with contextlib.suppress(OSError):
        return [one for one in folder.iterdir() if one.is_symlink() and _is_socket(one)]
    return []


def _is_socket(link: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.readlink(link).startswith("socket:")
    return False
