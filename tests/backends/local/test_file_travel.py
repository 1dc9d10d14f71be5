"""Files and folders reach their readers as they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from tests.support.file_travel import WANTED, file_travel


@pytest.mark.slow
def test_outcome(tmp_path: Path) -> None:
    workflow = resolve_defaults(file_travel())
    result = LocalBackend().run(workflow, options=RunOptions(home=tmp_path / "home", jobs=4))
    assert {name: str(value) for name, value in result.outputs.items()} == WANTED
