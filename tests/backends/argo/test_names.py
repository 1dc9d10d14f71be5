"""Names of users never meet the names that the backend makes, nor each other, in a manifest."""

from __future__ import annotations

import pytest

from couler.ir.values import Literal
from couler.ir.workflow import (
    Container,
    Input,
    Output,
    Step,
    Workflow,
)
from tests.support.verification import codes

TRUE = Container(image="alpine:3", command=("true",))


@pytest.mark.parametrize("name", ["couler_at", "couler_kept_x"])
def test_names_of_the_project_itself_are_kept(name: str) -> None:
    for fields in (
        {"inputs": (Input(name=name, value=Literal(value="x")),)},
        {"outputs": (Output(name=name, path="x"),)},
    ):
        step = Step(name="a", action=TRUE, **fields)
        assert codes(Workflow(name="w", steps=(step,))) == ["CLR153"]
