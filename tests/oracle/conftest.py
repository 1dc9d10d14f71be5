"""Places where workflows fail, are mended and restarted."""

from __future__ import annotations

import typing as t
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.argo_bench import Bench


@pytest.fixture(autouse=True)
def _with_short_waits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions state a time of grace after which no test is left; until then nothing is killed.

    What is left to wait for is that the controller hears that the pods before are gone.
    """

    def hears(*given: t.Any) -> float:
        return float(given[-1])

    if request.node.get_closest_marker("settles") is None:
        monkeypatch.setattr("couler.backends.argo.settling.settle_s", hears)


@pytest.fixture(scope="module")
def bench_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that containers see."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="module")
def bench_argo(
    tmp_path_factory: pytest.TempPathFactory, bench_folder: Path
) -> Iterator[argo_oracle.Session]:
    with argo_oracle.session(tmp_path_factory.mktemp("argo"), shared=[bench_folder]) as session:
        yield session


@pytest.fixture
def bench(bench_argo: argo_oracle.Session, bench_folder: Path) -> Bench:
    """A workflow that can be mended."""
    folder = bench_folder / uuid.uuid4().hex
    folder.mkdir()
    return Bench(bench_argo, folder)
