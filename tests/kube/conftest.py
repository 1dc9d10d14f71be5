"""One API server for the tests of this folder."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kube.api_server import BUILD, ApiServer, api_server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    if shutil.which("etcd") is None or not (BUILD / "kube-apiserver").exists():
        pytest.skip("`make kube-api` installs etcd, builds the API server and runs these tests")
    with api_server(tmp_path_factory.mktemp("kube-api")) as server:
        yield server


@pytest.fixture
def cluster(server: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ApiServer:
    """The server, which the command line finds by its kubeconfig."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KUBECONFIG", str(server.kubeconfig(server.token, "default")))
    return server
