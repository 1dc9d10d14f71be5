"""Parts of a scope: what verification says of them."""

from __future__ import annotations

import typing as t

import pytest

from couler.ir.policies import Part
from couler.ir.serialize import read_json, write_json
from couler.ir.verify import verify
from couler.ir.workflow import Container, ExitHandler, Group, Step, Workflow

RUN = Container(image="busybox", command=("true",))


def step(name: str, *after: str, run: str | None = None, group: str | None = None) -> Step:
    """Return a step; of a part if one is named."""
    part = Part(run=run, group=group) if run or group else None
    return Step(name=name, action=RUN, depends_on=after, part=part)


def problems(*steps: Step, **fields: t.Any) -> list[tuple[str, str | None]]:
    """Return the codes that a workflow of these steps gives, each with its step."""
    found = verify(Workflow(name="w", steps=steps, **fields))
    return [(problem.code, problem.step) for problem in found]


@pytest.mark.parametrize("kind", ["group", "run"])
@pytest.mark.parametrize("between", ["other", None])
def test_parts_on_a_circle_are_told_with_the_way(kind: str, between: str | None) -> None:
    one: dict[str, t.Any] = {kind: "one"}
    other: dict[str, t.Any] = {kind: between} if between else {}
    steps = (step("a", **one), step("b", "a", **other), step("c", "b", **one))
    [problem] = verify(Workflow(name="w", steps=steps))
    middle = f'{kind} "other"' if between else 'step "b"'
    assert problem.code == "CLR208"
    assert f'{kind} "one" -> {middle} -> {kind} "one"' in problem.message


def test_steps_on_a_circle_have_their_own_message() -> None:
    steps = (step("a", "b", group="one"), step("b", "a", group="two"))
    assert problems(*steps) == [("CLR202", "a")]


def test_a_group_lies_within_one_run() -> None:
    steps = (step("a", run="r", group="one"), step("b", "a", run="s", group="one"))
    assert problems(*steps) == [("CLR209", "b")]
    steps = (step("a", group="one"), step("b", "a", run="s", group="one"))
    assert problems(*steps) == [("CLR209", "b")]


def test_runs_of_their_own_are_made_of_the_workflows_own_steps() -> None:
    inner = Step(name="g", action=Group(steps=(step("a", run="r"),)))
    assert problems(inner) == [("CLR209", "g/a")]
    handler = ExitHandler(name="h", on="any", steps=(step("a", run="r"),))
    assert problems(step("b"), exit_handlers=(handler,)) == [("CLR209", "exit:h/a")]
    grouped = Step(name="g", action=Group(steps=(step("a", group="r"),)))
    assert not problems(grouped)


@pytest.mark.parametrize("name", ["No", "a_b", "-a", "x" * 64])
def test_names_of_parts_are_labels(name: str) -> None:
    steps = (step("a", group=name), step("b", "a", group=name), step("c", run=name))
    assert {code for code, _ in problems(*steps)} == {"CLR150"}
    assert problems(step("a", group="x" * 63)) == []


def test_parts_are_written_and_read() -> None:
    workflow = Workflow(name="w", steps=(step("a", run="r", group="g"),))
    assert read_json(write_json(workflow)) == workflow
