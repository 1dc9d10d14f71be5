"""Values and conditions under Argo's controller are those of this machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import argo_oracle
from tests.support.argo_compare import assert_same_outcome
from tests.support.value_cases import VALUE_CASES, ValueCase

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),  # the first use builds Argo's programs
    pytest.mark.skipif(argo_oracle.available() is not None, reason=str(argo_oracle.available())),
    pytest.mark.sampled(8),
]


@pytest.mark.parametrize("case", VALUE_CASES.values(), ids=VALUE_CASES)
def test_outcome(case: ValueCase, argo: argo_oracle.Session, tmp_path: Path) -> None:
    assert_same_outcome(case.workflow(), argo, tmp_path)
