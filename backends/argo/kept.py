"""Files that steps put at a location of their own, for the steps that read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from couler.ir.values import StepRef, Value
from couler.ir.walk import (
    all_steps,
    explicit_dependencies,
    implied_dependencies,
    output_references,
    references,
)
from couler.ir.workflow import Group, Input, Output, Step, Workflow

COPY = "couler_kept_"
"""How the name of an output begins that is put at a location besides the repository."""


def read_where_kept(workflow: Workflow) -> Workflow:
    """Return an equal workflow in which no output is at a location and in the repository."""
    if not any(output.at is not None for step in all_steps(workflow) for output in step.outputs):
        return workflow
    read_outside = [
        reference
        for handler in workflow.exit_handlers
        for step in handler.steps
        for reference in references(step)
    ]
    read_outside += [read for hook in workflow.hooks for read in references(hook.step)]
    given_out = [output.value for output in workflow.outputs]
    handlers = tuple(
        handler.model_copy(update={"steps": _scope(handler.steps, (), ())})
        for handler in workflow.exit_handlers
    )
    steps = _scope(workflow.steps, given_out, read_outside)
    return workflow.model_copy(update={"steps": steps, "exit_handlers": handlers})


def _scope(
    steps: tuple[Step, ...], given_out: Iterable[Value | None], read_outside: Iterable[StepRef]
) -> tuple[Step, ...]:
    kept = {
        (step.name, output.name): output
        for step in steps
        if step.foreach is None and step.loop is None
        for output in step.outputs
        if output.at is not None
    }
    steps = tuple(_read_in_place(step, kept) for step in steps)
    reads = {(reference.step, reference.output) for reference in read_outside}
    for step in steps:
        for reader in (step, *(hook.step for hook in step.hooks)):
            reads |= {(reference.step, reference.output) for reference in references(reader)}
    for value in given_out:
        reads |= {(reference.step, reference.output) for reference in output_references(value)}
    return tuple(_with_copies(_inside(step), reads) for step in steps)


def _inside(step: Step) -> Step:
    if not isinstance(step.action, Group):
        return step
    inner = _scope(step.action.steps, [output.value for output in step.outputs], ())
    return step.model_copy(update={"action": step.action.model_copy(update={"steps": inner})})


def _read_in_place(step: Step, kept: dict[tuple[str, str], Output]) -> Step:
    """Return a step whose inputs are taken from where other steps of its scope have put them."""
    if isinstance(step.action, Group):
        return step
    inputs = tuple(_input(given, kept) for given in step.inputs)
    if inputs == step.inputs:
        return step
    before = {*(name for name, _ in explicit_dependencies(step)), *implied_dependencies(step)}
    moved = step.model_copy(update={"inputs": inputs})
    still = {*(name for name, _ in explicit_dependencies(step)), *implied_dependencies(moved)}
    edges = [name for name in implied_dependencies(step) if name in before - still]
    return moved.model_copy(update={"depends_on": (*step.depends_on, *edges)})


def _input(given: Input, kept: dict[tuple[str, str], Output]) -> Input:
    value = given.value
    if not isinstance(value, StepRef) or (value.step, value.output) not in kept:
        return given
    output = kept[value.step, value.output]
    place = {"value": None, "at": output.at, "archive": output.archive}
    return given.model_copy(update=place)


def _with_copies(step: Step, reads: set[tuple[str, str]]) -> Step:
    outputs = tuple(
        one
        for output in step.outputs
        for one in _copies(output, is_read=(step.name, output.name) in reads)
    )
    return step if outputs == step.outputs else step.model_copy(update={"outputs": outputs})


def _copies(output: Output, *, is_read: bool) -> Iterator[Output]:
    if output.at is None or not is_read:
        yield output
        return
    yield output.model_copy(update={"at": None, "archive": None})
    yield output.model_copy(update={"name": f"{COPY}{output.name}"})
