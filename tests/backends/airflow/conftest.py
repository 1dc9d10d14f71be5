"""An Airflow that runs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.airflow_api import FakeAirflow


@pytest.fixture
def airflow(tmp_path: Path) -> Iterator[FakeAirflow]:
    with FakeAirflow(tmp_path).running() as running:
        yield running
