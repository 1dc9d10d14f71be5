"""Values and conditions end on this machine as docs/semantics.md says."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from tests.support.value_cases import VALUE_CASES, ValueCase


@pytest.mark.parametrize("case", VALUE_CASES.values(), ids=VALUE_CASES)
def test_result(case: ValueCase, tmp_path: Path) -> None:
    run = LocalBackend().run(
        resolve_defaults(case.workflow()), options=RunOptions(home=tmp_path, jobs=4)
    )
    assert run.status == ("failed" if case.result is None else "succeeded")
    if case.result is not None:
        assert run.outputs == {"r": case.result}
