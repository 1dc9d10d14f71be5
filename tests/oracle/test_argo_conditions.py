"""Conditions on steps that are themselves skipped, fail or are omitted, under Argo's controller."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome
from tests.support.condition_cases import CASES, condition_case

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(8),
]


@pytest.mark.parametrize(("producer", "state", "place"), CASES)
def test_outcome(
    producer: str, state: str, place: str, argo: argo_oracle.Session, tmp_path: Path
) -> None:
    assert_same_outcome(condition_case(producer, state, place), argo, tmp_path)
