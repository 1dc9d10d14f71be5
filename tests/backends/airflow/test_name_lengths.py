"""Names that become ids of tasks which are too long for Airflow."""

from __future__ import annotations

import pytest

from couler.backends.airflow import AirflowBackend
from couler.backends.base import Target
from couler.ir.policies import Foreach
from couler.ir.values import Literal
from couler.ir.workflow import Group, Step
from tests.support.feature_samples import echo, flow

BACKEND = AirflowBackend()


def found_in(step: Step) -> list[tuple[str, str | None]]:
    return [(one.code, one.step) for one in BACKEND.check(flow(step), Target())]


@pytest.mark.parametrize(("length", "is_refused"), [(125, False), (126, True)])
def test_ids_with_their_groups(length: int, *, is_refused: bool) -> None:
    outer, inner = "g" * 124, "s" * length
    step = Step(name=outer, action=Group(steps=(echo(inner),)))
    assert found_in(step) == ([("CLR349", f"{outer}/{inner}")] if is_refused else [])


@pytest.mark.parametrize(("length", "is_refused"), [(122, False), (123, True)])
def test_tasks_of_the_compiler_are_counted(length: int, *, is_refused: bool) -> None:
    """A task is `GROUP.item.STEP`."""
    outer = "g" * 122
    inner = "s" * length
    each = Foreach(over={"item": Literal(value=(1, 2))})
    step = Step(name=outer, action=Group(steps=(echo(inner),)), foreach=each)
    assert found_in(step) == ([("CLR349", f"{outer}/{inner}")] if is_refused else [])


@pytest.mark.parametrize(("length", "is_refused"), [(200, False), (201, True)])
def test_names_of_groups(length: int, *, is_refused: bool) -> None:
    step = Step(name="g" * length, action=Group(steps=(echo("a"),)))
    assert found_in(step) == ([("CLR349", "g" * length)] if is_refused else [])
