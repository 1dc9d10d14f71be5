"""What can be read of the step itself: in its metrics and hooks, and of a response."""

from __future__ import annotations

from collections.abc import Mapping

from couler.ir.conditions import Condition, operands
from couler.ir.values import Field, Literal, OwnRef, Value
from couler.ir.verify.conditions import check_comparisons
from couler.ir.verify.logic import Logic
from couler.ir.verify.types import TEXT, Kind, output_kinds
from couler.ir.verify.values import Reader
from couler.ir.workflow import STDOUT, Container, Http, Script, Step

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
    for operand in operands(condition):
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
