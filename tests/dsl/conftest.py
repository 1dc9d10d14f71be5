"""Every test starts as a new program does: without a workflow."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from couler.dsl._context import Context, entered


@pytest.fixture(autouse=True)
def new_program() -> Iterator[None]:
    with entered(Context()):
        yield
