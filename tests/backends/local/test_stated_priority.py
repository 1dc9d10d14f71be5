"""Steps that state a priority start before others that wait for room."""

from __future__ import annotations

from pathlib import Path

from couler.backends.base import RunOptions
from couler.ir.policies import Placement, Profile
from couler.ir.workflow import Output, Script, Step, Workflow
from couler.stages import run
from couler.state import attempts_of, open_database
from couler.state.home import Home


def test_the_greatest_number_starts_first_however_long_others_take(tmp_path: Path) -> None:
    def step(name: str, priority: int | None, seconds: float) -> Step:
        return Step(
            name=name,
            action=Script(image="python:3.12-slim", source="print(1)"),
            outputs=(Output(),),
            placement=None if priority is None else Placement(priority=priority),
            profile=Profile(seconds=seconds),
        )

    steps = (
        step("low", -1, 10_000.0),
        step("unsaid", None, 5_000.0),
        step("high", 2, 1.0),
        step("higher", 3, 1.0),
    )
    result = run(Workflow(name="w", steps=steps), options=RunOptions(home=tmp_path, jobs=1))
    assert result.status == "succeeded"
    with open_database(Home(tmp_path).database_url) as database:
        started = sorted(attempts_of(database, result.run_id), key=lambda one: one.started)
    assert [one.path for one in started] == ["higher", "high", "unsaid", "low"]
