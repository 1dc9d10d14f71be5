"""Outcomes of runs: those that an item states, and those of its reference with other parameters."""

from __future__ import annotations

import ast
import json
import typing as t
from collections.abc import Iterator

from benchmarks.nl.items import Course
from couler.box.running import BoxedRun
from couler.ir.semantics.comparisons import is_number
from couler.ir.traversal import Traversal
from couler.ir.values import Literal
from couler.ir.walk import all_steps
from couler.ir.workflow import Parameter, Script, Workflow

_LITERALS: Traversal[Literal] = Traversal(Literal, enters=("typed",))

MAX_VALUES = 8
"""So many other values of a parameter are tried."""


def other_parameters(workflow: Workflow) -> Iterator[dict[str, t.Any]]:
    """Yield parameters of further runs: values that the workflow can tell from the defaults."""
    for parameter in workflow.parameters:
        values = {repr(one): one for one in _other_values(parameter, workflow)}
        values.pop(repr(parameter.default), None)
        yield from ({parameter.name: value} for value in list(values.values())[:MAX_VALUES])


def _other_values(parameter: Parameter, workflow: Workflow) -> Iterator[t.Any]:
    match parameter.default:
        case _ if parameter.choices:
            yield from parameter.choices
        case bool() as default:
            yield not default
        case int() | float() as default:
            kind = type(default)
            near = [default, *(one for one in _numbers(workflow) if kind(one) == one)]
            yield from (kind(factor * one) for factor in (1, 2) for one in near)
            yield default + 1
        case str() as default:
            words = default.split()
            yield from (" ".join((*words, *words[:1])), " ".join(words[::-1]))
        case tuple() as default:
            yield from (default[::-1], (*default, *default[:1]))


def _numbers(workflow: Workflow) -> Iterator[t.Any]:
    """Yield the numbers in functions and conditions, which values may be compared with."""
    for step in all_steps(workflow):
        if isinstance(step.action, Script) and step.action.function is not None:
            for node in ast.walk(ast.parse(step.action.source)):
                if isinstance(node, ast.Constant) and is_number(node.value):
                    yield node.value
        for _, one in _LITERALS.visit(step, fields=("when", "loop")):
            if is_number(one.value):
                yield one.value


def with_outcome(course: Course, ran: BoxedRun, names: frozenset[str]) -> Course:
    """Return a run that comes to what another has come to."""
    outputs = {name: value for name, value in ran.outputs.items() if name in names}
    states = {"status": ran.status, "outputs": outputs, "states": ran.states}
    return course.model_copy(update=states)


def unequal(course: Course, ran: BoxedRun) -> Iterator[str]:
    """Yield what a run comes to that it should not; it may have more steps than it should."""
    with_ = f" with {json.dumps(course.parameters)}" if course.parameters else ""
    if ran.status != course.status:
        end = ran.status or "come to no end"
        why = f": {ran.message}" if ran.message else ""
        yield f"the run{with_} should have {course.status}, but has {end}{why}"
        return
    for name, wanted in course.outputs.items():
        found = ran.outputs.get(name)
        if not _is_equal(wanted, found):
            yield (
                f'the run{with_} should give "{name}" = {json.dumps(wanted)}, but gives '
                f"{json.dumps(found, default=str)}"
            )
    for state, count in course.states.items():
        if ran.states.get(state, 0) < count:
            yield (
                f"in the run{with_} {count} steps should be {state}, but "
                f"{ran.states.get(state, 0)} are"
            )


def _is_equal(wanted: object, found: object) -> bool:
    """Return whether two JSON values are equal; numbers may differ by what computing leaves."""
    if isinstance(wanted, bool) or isinstance(found, bool):
        return wanted is found
    if isinstance(wanted, int | float) and isinstance(found, int | float):
        return abs(wanted - found) <= 1e-9 * max(abs(wanted), abs(found), 1.0)
    if isinstance(wanted, list) and isinstance(found, list | tuple):
        return len(wanted) == len(found) and all(map(_is_equal, wanted, found))
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(
            _is_equal(value, found[name]) for name, value in wanted.items()
        )
    return wanted == found
