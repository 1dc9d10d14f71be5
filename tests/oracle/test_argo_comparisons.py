"""Comparisons under Argo's controller end as on this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome
from tests.support.comparison_cases import OPERANDS, comparisons

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(4),
]


@pytest.mark.parametrize("name", OPERANDS)
def test_with_literals(name: str, argo: argo_oracle.Session, tmp_path: Path) -> None:
    assert_same_outcome(comparisons(name), argo, tmp_path)


@pytest.mark.parametrize("name", OPERANDS)
def test_with_each_other(name: str, argo: argo_oracle.Session, tmp_path: Path) -> None:
    assert_same_outcome(comparisons(name, OPERANDS), argo, tmp_path)
