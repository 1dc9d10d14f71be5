"""Passes of tests that are installed as a third party's."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.support import pass_samples


@pytest.fixture
def samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Install the passes of support/pass_samples.py."""
    pass_samples.install(tmp_path / "samples")
    monkeypatch.syspath_prepend(tmp_path / "samples")
    yield
    sys.modules.pop("couler_pass_samples", None)
