"""Drawn values travel under Argo's controller as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome
from tests.support.drawn_flows import drawn_flow

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(10),
]


@pytest.mark.parametrize("seed", range(10))
def test_ten_values(seed: int, argo: argo_oracle.Session, tmp_path: Path) -> None:
    assert_same_outcome(drawn_flow(seed, 10), argo, tmp_path)
