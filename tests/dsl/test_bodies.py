"""A map or loop of one step takes and gives what one of two steps does, in every location."""

from __future__ import annotations

from pathlib import Path

import pytest

from couler.backends.base import RunOptions
from couler.backends.local import LocalBackend
from couler.ir.defaults import resolve_defaults
from tests.dsl.look import codes
from tests.support.body_cases import LOCATIONS, RESULTS, RUN_HERE, SOURCES, WITHOUT_TEXT, body_case


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize(
    ("location", "source"),
    [
        (location, source)
        for location in LOCATIONS
        for source in (SOURCES if location not in WITHOUT_TEXT else ["item"])
    ],
)
def test_every_location_takes_values(location: str, source: str, steps: int) -> None:
    assert codes(body_case(location, source, steps)) == []


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("location", RUN_HERE)
def test_value(location: str, source: str, steps: int, tmp_path: Path) -> None:
    workflow = resolve_defaults(body_case(location, source, steps).to_ir())
    run = LocalBackend().run(workflow, options=RunOptions(home=tmp_path, jobs=4))
    assert run.outputs == {"r": RESULTS[source]}
