"""Methods are no steps, and are told of as such; outside of a workflow they stay methods."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

import pytest

import couler
from tests.dsl.look import box, codes, problems

MEND = "write it as a function outside of the class"


class Model:
    def __init__(self, rate: int = 2) -> None:
        self.rate = rate

    @couler.step
    def train(self, x: int) -> int:
        return self.rate * x

    @classmethod
    @couler.step
    def make(cls, x: int) -> int:
        return x + (cls is Model)

    @couler.step
    @classmethod
    def other(cls, x: int) -> int:
        return x + (cls is Model)

    @staticmethod
    @couler.step
    def add(x: int) -> int:
        return x + 1

    @couler.step
    @staticmethod
    def add_too(x: int) -> int:
        return x + 1

    @couler.step
    def double(x: int) -> int:  # noqa: N805  # what a program may say
        return 2 * x

    def plain(self, x: int) -> int:
        return self.rate * x


CALLS: dict[str, Callable[[], object]] = {
    "bound": lambda: Model().train(1),
    "by name": lambda: Model().train(x=1),
    "unbound": lambda: Model.train(Model(), 1),
    "map": lambda: Model().train.map([1, 2]),
    "map by name": lambda: Model().train.map(x=[1, 2]),
    "partial": lambda: Model().train.partial(x=1)(),
    "bound, as a step": lambda: couler.step(Model().plain)(1),
    "unbound, as a step": lambda: couler.step(Model.plain)(Model(), 1),
    "of the class": lambda: Model.make(1),
    "of the class, from an object": lambda: Model().make(x=1),
    "of the class, as a step": lambda: Model.other(1),
    "script": lambda: couler.run_script("python", source=Model().plain, step_name="plain"),
    "unbound script": lambda: couler.run_script("python", source=Model.plain, step_name="plain"),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=list(CALLS))
def test_a_method_is_told_of_once(call: Callable[[], object]) -> None:
    with couler.Workflow("w") as wf:
        value = call()
        box("read", value)
    [problem] = problems(wf)
    assert problem.code == "CLR109"
    assert "it is a method" in problem.message
    assert MEND in problem.message
    assert problem.source is not None
    assert problem.source.file.endswith("test_methods.py")


@pytest.mark.parametrize("name", ["add", "add_too"])
def test_a_static_method_can_be_a_step(name: str) -> None:
    with couler.Workflow("w") as wf:
        getattr(Model, name)(1)
    assert codes(wf) == []


def test_outside_of_a_workflow_methods_run() -> None:
    model = Model(3)
    calls: list[t.Any] = [
        model.train(2),
        model.train(x=2),
        Model.train(model, 2),
        Model.make(1),
        model.other(1),
        Model.add(1),
        model.add_too(1),
        Model.double(2),
        model.double(2),
        couler.step(model.plain)(2),
    ]
    assert calls == [6, 6, 6, 2, 2, 2, 2, 4, 4, 6]
