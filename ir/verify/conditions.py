"""Rules for conditions: values that can be compared, results that are not known beforehand."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.errors import ConditionError
from couler.ir.semantics import TEXT, Kind, output_kinds
from couler.ir.semantics.comparisons import compare
from couler.ir.values import (
    Compare,
    Condition,
    Field,
    Literal,
    Not,
    OwnRef,
    Value,
    children,
    is_file,
)
from couler.ir.verify.logic import Logic
from couler.ir.verify.scope import Reason, conjuncts
from couler.ir.verify.values import Reader
from couler.ir.workflow import STDOUT, Container, Http, Script, Step

_UNORDERED = ("list", "dict", "bool")


def check_when(reader: Reader, condition: Condition) -> None:
    """Check a step's condition; what stands before a read in an `and` holds where it is read."""
    step = reader.step
    if step is None:
        return
    own = reader.view.reasons(step.name)
    holds = {reason for reason in own if reason.condition is None}
    logic = Logic(reader.view.domains)
    for part in conjuncts(condition):
        reader.stand_under(frozenset(holds))
        check_comparisons(reader, part, "when", logic)
        holds |= {Reason(part.model_dump_json(), condition=part)}
    reader.stand_under(None)
    results = logic.results(logic.formula(condition))
    if len(results) == 1:
        if True in results:
            message = "its condition always holds. Remove it, or compare something that can change."
        else:
            message = "its condition can never hold, so it never runs. Compare something else."
        reader.view.add("CLR207", step, message, "warning")


def check_loop(reader: Reader, condition: Condition) -> None:
    """Check the condition of a loop."""
    logic = Logic(reader.view.domains)
    rounds = reader.rounds_read
    check_comparisons(reader, condition, "loop", logic)
    if reader.rounds_read == rounds:
        reader.add(
            "CLR221",
            "its loop's condition reads nothing of the round that has ended, so it never "
            "changes. Compare an output of the step itself.",
        )
        return
    results = logic.results(logic.formula(condition))
    if results == {True}:
        reader.add(
            "CLR222",
            "its loop's condition always holds, so the loop fails at its bound. "
            "Compare something that can change.",
        )
    elif results == {False}:
        reader.view.add(
            "CLR222",
            reader.step,
            "its loop's condition can never hold, so there is one round only. Remove the loop.",
            "warning",
        )


def _comparisons(condition: Condition) -> Iterator[Compare]:
    if isinstance(condition, Compare):
        yield condition
    elif isinstance(condition, Not):
        yield from _comparisons(condition.item)
    else:
        for item in condition.items:
            yield from _comparisons(item)


def check_comparisons(reader: Reader, condition: Condition, field: str, logic: Logic) -> None:
    """Check that the sides of all comparisons can be compared."""
    for comparison in _comparisons(condition):
        left = reader.kind(comparison.left, field)
        right = reader.kind(comparison.right, field)
        if is_file(left.type) or is_file(right.type):
            reader.not_a_file(left if is_file(left.type) else right, field)
            continue
        problem = _problem(comparison, left, right) or _problem(_swap(comparison), right, left)
        if problem is not None:
            reader.add("CLR181", f"{field} compares {problem}.")
        elif comparison.op in ("==", "!=") and _are_unlike(comparison, left, right):
            logic.decide(comparison, equal=False)


def _problem(comparison: Compare, left: Kind, right: Kind) -> str | None:
    """Return why a comparison always fails, seen from its left side."""
    value, other = comparison.left, comparison.right
    if isinstance(value, Literal) and isinstance(other, Literal):
        try:
            compare(value.value, comparison.op, other.value)
        except ConditionError as error:
            return str(error)
        return None
    is_null = isinstance(value, Literal) and value.value is None
    if comparison.op not in ("==", "!=") and (is_null or left.family in _UNORDERED):
        return (
            f"{'null' if is_null else left} by {comparison.op}, but only numbers and texts "
            "have an order. Compare by == or !=, or compare a part of it"
        )
    if isinstance(value, Literal) and isinstance(value.value, str) and right.family in _SAMPLES:
        try:
            compare(value.value, "==", _SAMPLES[right.family])
        except ConditionError:
            return (
                f'the text "{value.value}" with a value of type {right}, but it does not read as '
                f"one. Write {'a number' if right.family == 'number' else 'true or false'}"
            )
    return None


_SAMPLES: dict[str, t.Any] = {"number": 0, "bool": True}


def _are_unlike(comparison: Compare, left: Kind, right: Kind) -> bool:
    """Return whether two values can never be equal by their types alone."""
    families = {left.family, right.family}
    if len(families) == 1 or "json" in families:
        return _is_null(comparison.left, right) or _is_null(comparison.right, left)
    return not families <= {"str", "number"} and not families <= {"str", "bool"}


def _is_null(value: Value, other: Kind) -> bool:
    return isinstance(value, Literal) and value.value is None and other.family != "json"


def _swap(comparison: Compare) -> Compare:
    return comparison.model_copy(update={"left": comparison.right, "right": comparison.left})


Facts = Mapping[str, Kind]
"""Types by the name of the fact; `output.NAME` for an output, `header` for any header."""

STATUS: Facts = {"status": TEXT}
OF_RUN: Facts = {"status": TEXT, "duration_s": Kind("float")}
OF_RESPONSE: Facts = {"status_code": Kind("int"), "header": TEXT, f"output.{STDOUT}": TEXT}


def facts_of(step: Step) -> Facts:
    """Return what the metrics of a step can read of it."""
    facts: dict[str, Kind] = {**OF_RUN}
    if isinstance(step.action, Container | Script):
        facts["exit_code"] = Kind("int")
    declared = {output.name for output in step.outputs}
    for name, kind in output_kinds(step, each=True).items():
        if name in declared or isinstance(step.action, Http):
            facts[f"output.{name}"] = kind
    return facts


def check_own_condition(reader: Reader, condition: Condition, field: str, facts: Facts) -> None:
    """Check a condition that compares facts of the step itself and literals."""
    for operand in children(condition):
        if not _is_own(operand):
            reader.add(
                "CLR432",
                f"{field} compares something else than facts of its own and plain values. Compare "
                f"these only: {', '.join(facts)}.",
            )
            return
    with reader.reading(facts):
        check_comparisons(reader, condition, field, Logic({}))


def _is_own(value: Value) -> bool:
    if isinstance(value, Field):
        return _is_own(value.of)
    return isinstance(value, OwnRef | Literal)
