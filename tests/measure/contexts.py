"""pytest plugin that records which test runs which line: ``pytest -p tests.measure.contexts``."""

from __future__ import annotations

import os
import typing as t
from collections.abc import Generator
from pathlib import Path

import coverage
import pytest

from tests.measure.size import MEASURED

FOLDER = Path("build/contexts").absolute()

_recorder: t.Final = coverage.Coverage(
    data_file=str(FOLDER / os.environ.get("PYTEST_XDIST_WORKER", "main")),
    config_file=False,
    branch=False,
    source=[str(Path(folder).absolute()) for folder in MEASURED],
    messages=False,
)
# The process that hands tests to workers runs none itself.
_recorder.set_option("run:disable_warnings", ["no-data-collected"])


def pytest_configure() -> None:
    _recorder.start()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _recorder.switch_context(item.nodeid)
    try:
        return (yield)
    finally:
        _recorder.switch_context("")


def pytest_unconfigure() -> None:
    _recorder.stop()
    _recorder.save()
