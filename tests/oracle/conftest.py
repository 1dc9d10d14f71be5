"""Places where workflows fail, are mended and restarted."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oracle.argo.cluster import RUNNING
from tests.support import argo_oracle
from tests.support.argo_bench import Bench


@pytest.fixture(autouse=True)
def _with_short_waits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let restarts wait only until the controller is done with pods, if not marked with `settles`.

    For the rest of the time they wait until it has forgotten what it has queued by their names, and
    heard that they are gone. That is so at once if it is another controller that takes up the run.
    """

    def forget() -> None:
        for cluster in RUNNING:
            cluster.restart_controller()

    if request.node.get_closest_marker("settles") is None:
        argo = "couler.backends.argo"
        monkeypatch.setattr(f"{argo}.cluster_restart.left_s", lambda *_: 0.0)
        monkeypatch.setattr(f"{argo}.cluster_restart.whole_wait_s", lambda *_: 0.0)
        monkeypatch.setattr(f"{argo}.cluster_restart.wait_until_heard", forget)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that containers see."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def argo(tmp_path_factory: pytest.TempPathFactory, shared: Path) -> Iterator[argo_oracle.Session]:
    with argo_oracle.session(tmp_path_factory.mktemp("argo"), shared=[shared]) as session:
        yield session


@pytest.fixture
def bench(argo: argo_oracle.Session, shared: Path) -> Bench:
    """A workflow that can be mended."""
    folder = shared / uuid.uuid4().hex
    folder.mkdir()
    return Bench(argo, folder)
