"""Airflow for the tests of this folder: one process for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.kubernetes.cluster import FakeCluster
from tests.fakes.kubernetes.images import Images
from tests.support import airflow_runs, io_image
from tests.support.airflow_runs import Worker
from tests.support.s3_server import S3Server, s3_server


@pytest.fixture(scope="session")
def airflow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    if reason := airflow_runs.run_obstacle():
        pytest.skip(reason)
    with Worker(tmp_path_factory.mktemp("airflow")) as worker:
        yield worker


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[FakeCluster]:
    """A cluster whose pods see the folder `shared`, and that has the image of the helper."""
    shared = tmp_path / "shared"
    shared.mkdir()
    images = Images({io_image.NAME: io_image.io_image(tmp_path / "image")})
    with FakeCluster(tmp_path / "cluster", shared=[shared], images=images) as cluster:
        yield cluster
