"""The step that a condition reads ends as the case says."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from tests.support.condition_cases import STATES, condition_case


@pytest.mark.parametrize("state", STATES)
def test_the_producer_ends_so(state: str, tmp_path: Path) -> None:
    flow = condition_case("container", state, "inner")
    run = LocalBackend().run(flow, options=RunOptions(home=tmp_path))
    assert run.steps["p"].status == state
