"""Rules for what a step reads: references, ranges, types, and reads that may find nothing."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterator, Mapping

from couler.errors import EvaluationError
from couler.ir.diagnostics import Severity, did_you_mean
from couler.ir.policies import AnyOf
from couler.ir.semantics import (
    ANY,
    Kind,
    kind_of,
    output_kinds,
)
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    children,
    is_file,
)
from couler.ir.verify.names import check_literal
from couler.ir.verify.scope import Reason, ScopeView, is_readable
from couler.ir.walk import implied_dependencies
from couler.ir.workflow import Step

if t.TYPE_CHECKING:
    from couler.ir.verify.logic import Logic

_WHOLE = ("int", "str", "json")


def check_range(reader: Reader, value: Range, field: str, covered: bool) -> None:
    """Check a range; the arguments are those of `Reader.kind`."""
    from couler.ir.ranges import is_known, read_format

    if (value.count is None) == (value.end is None):
        has = "neither" if value.count is None else "both"
        reader.add("CLR187", f"{field} is a range with {has} of count and end. Give one of them.")
        return
    for name in ("start", "count", "end"):
        end = getattr(value, name)
        if end is None or isinstance(end, Literal):
            continue
        kind = reader.kind(end, field, covered)
        if kind.many or kind.type not in _WHOLE:
            reader.add(
                "CLR187",
                f"{field} is a range whose {name} is {kind}. Give a whole number, or an output "
                "that is declared int.",
            )
    if value.format is not None and read_format(value.format) is None:
        reader.add(
            "CLR187",
            f"{field} is a range with the format {value.format!r}. Give a text with one %d in it, "
            "or %03d for three digits, and without quotes, braces, backslashes and other %.",
        )
        return
    if is_known(value):
        _check_known(reader, value, field)
    elif isinstance(value.count, Literal):
        _check_length(reader, value, field)


def _check_length(reader: Reader, value: Range, field: str) -> None:
    """Check how many numbers there are from a start that is not known."""
    from couler.ir.ranges import range_items

    try:
        range_items(value, lambda end: end.value if isinstance(end, Literal) else 0)
    except EvaluationError as error:
        reader.add("CLR187", f"{field}: {error}.")


def _check_known(reader: Reader, value: Range, field: str) -> None:
    from couler.ir.ranges import range_items

    try:
        items = range_items(value, lambda end: t.cast("Literal", end).value)
    except EvaluationError as error:
        reader.add("CLR187", f"{field}: {error}.")
        return
    if not field.startswith("foreach."):  # there each item travels, and the list does not
        check_literal(reader.view, reader.step, field, tuple(items))


_NOTHING: Mapping[str, str] = {}


class Reader:
    """Checks values one after another, for the step that `start` names."""

    def __init__(self, view: ScopeView) -> None:
        self.view = view
        self.step: Step | None = None
        self.loose = _NOTHING
        self.waits_for_later_step = False
        self.rounds_read = 0
        self._facts: Mapping[str, Kind] = {}
        self._position = len(view.all_steps)
        self._standing: frozenset[Reason] | None = None

    def start(self, step: Step | None, loose: Mapping[str, str] = _NOTHING) -> None:
        """Turn to another step, or, with None, to the outputs of the scope."""
        self.step = step
        self.loose = loose
        self._standing = None
        view = self.view
        self._position = len(view.all_steps) if step is None else view.position[step.name]

    def stand_under(self, reasons: frozenset[Reason] | None) -> None:
        """State what is known to hold where values are read; None for all that the step asks."""
        self._standing = reasons

    @contextlib.contextmanager
    def reading(self, facts: Mapping[str, Kind]) -> Iterator[None]:
        """State what `OwnRef` can read in a block."""
        self._facts = facts
        try:
            yield
        finally:
            self._facts = {}

    def add(self, code: str, message: str, severity: Severity = "error") -> None:
        """Report a problem of the current step."""
        self.view.add(code, self.step, message, severity)

    def text(self, value: Value, field: str, covered: bool = False) -> None:
        """Check a value that is used as text."""
        kind = self.kind(value, field, covered)
        if is_file(kind.type):
            self.not_a_file(kind, field)

    def not_a_file(self, kind: Kind, field: str) -> None:
        """Report a file where a value is needed."""
        self.add(
            "CLR177",
            f"{field} uses {kind} as a value, but a file has none. "
            "Declare an input of that type, and use the path of the input.",
        )

    def kind(self, value: Value, field: str, covered: bool = False) -> Kind:
        """Check a value and return its type."""
        # The usual ones first, by `type`: a model's isinstance is slow where the answer is no.
        if type(value) is StepRef:
            return self._step(value, field, covered)
        if type(value) is ParamRef:
            if value.name not in self.view.parameters:
                self._unknown_parameter(value, field)
            return self.view.parameters.get(value.name, ANY)
        match value:
            case Literal():
                check_literal(self.view, self.step, field, value.value)
            case ItemRef():
                return self._item(value, field)
            case RoundRef():
                return self._round(value, field, covered)
            case RunRef():
                if value.field == "status" and self.view.handler is None:
                    self.add(
                        "CLR167",
                        f"{field} reads the run's status, which is known only when the run has "
                        "ended. Read it in an exit handler.",
                    )
            case OwnRef():
                return self._own(value, field)
            case Field():
                self._field(value, field, covered)
            case OrElse():
                self.kind(value.value, field, covered=True)
                self.kind(value.default, field, covered)
            case FirstOf():
                for option in value.options:
                    self.kind(option, field, covered=True)
                if not covered and not self._is_certain(value):
                    self._uncertain_first_of(value, field)
            case Range():
                check_range(self, value, field, covered)
            case Template():
                for part in value.parts:
                    if not isinstance(part, str):
                        self.text(part, field, covered)
        return kind_of(value, self.step, self.view.readable, self.view.parameters)

    def _step(self, ref: StepRef, field: str, covered: bool) -> Kind:
        name = ref.step
        view = self.view
        position = view.position.get(name)
        if position is None and name not in view.outer:
            return self._unknown_step(ref, field)
        kind = view.outputs_of(name).get(ref.output)
        if kind is None:
            return self._unknown_output(ref, field)
        if position is None:
            if not covered and not _has_default(view.outer[name], ref.output):
                self.add(
                    "CLR215",
                    f'{field} reads {name}.{ref.output}, but "{name}" need not have run when the '
                    f"run ends. Give the value a default: {name}.{ref.output}.or_else(...).",
                )
        elif position >= self._position:
            if name == getattr(self.step, "name", None):
                return self._own_output(ref, field)
            self.waits_for_later_step = True
        if not covered and (name in view.doubtful or name in self.loose) and position is not None:
            self._check_read(ref, field)
        return kind

    def _check_read(self, ref: StepRef, field: str) -> None:
        if _has_default(self.view.steps[ref.step], ref.output):
            return
        read = f"{field} reads {ref.step}.{ref.output}"
        mend = f"Give the value a default: {ref.step}.{ref.output}.or_else(...)"
        if self.view.reasons(ref.step) - self._known():
            producer = self.view.steps[ref.step]
            why = "its condition is false" if producer.when is not None else "nothing fails"
            place = f" ({producer.source})" if producer.source is not None else ""
            self.add(
                "CLR211",
                f'{read}, but "{ref.step}"{place} is skipped when {why}. {mend}, or let this '
                "be under the same condition.",
            )
        elif ref.step in self.loose:
            code = "CLR212" if self.step is not None else "CLR213"
            self.add(code, f'{read}, but "{ref.step}" {self.loose[ref.step]}. {mend}.')

    def _known(self) -> frozenset[Reason]:
        """Return what holds when the current step runs."""
        if self._standing is None:
            own = self.step.name if self.step is not None else None
            self._standing = self.view.reasons(own) if own is not None else frozenset()
        return self._standing

    def _item(self, ref: ItemRef, field: str) -> Kind:
        foreach = self.step.foreach if self.step is not None else None
        if foreach is None:
            owner = self.view.owner
            mend = "Give the step a foreach, or read something else."
            if owner is not None and owner.foreach is not None:
                mend = f'Pass the item of "{owner.name}" into the group by an input.'
            self.add("CLR163", f'{field} reads the item "{ref.name}", but has no foreach. {mend}')
        elif field == "when" or field.startswith("foreach"):
            self.add(
                "CLR163",
                f'{field} reads the item "{ref.name}", but is evaluated once, before there are '
                "items. Put the step into a group under the foreach, with the item as its input.",
            )
        elif ref.name not in foreach.over:
            hint = did_you_mean(ref.name, foreach.over)
            known = ", ".join(foreach.over)
            self.add("CLR163", f'{field} reads the item "{ref.name}"; there is: {known}.{hint}')
        else:
            return kind_of(ref, self.step, self.view.readable, self.view.parameters)
        return ANY

    def _round(self, ref: RoundRef, field: str, covered: bool) -> Kind:
        step = self.step
        if step is None or step.loop is None or field == "when" or field.startswith("foreach"):
            before = " before its loop begins" if step is not None and step.loop else ""
            self.add(
                "CLR164",
                f"{field} reads the previous round{before or ', but has no loop'}. Only a step "
                "with a loop reads its rounds, in its inputs and in the loop's condition.",
            )
            return ANY
        self.rounds_read += 1
        outputs = output_kinds(step, each=True)
        kind = outputs.get(ref.output, ANY)
        if ref.output not in outputs:
            self._no_such_output(step, ref.output, field, tuple(outputs))
        elif ref.initial is not None:
            self.kind(ref.initial, field, covered)
            if isinstance(ref.initial, Literal) and not is_readable(ref.initial.value, kind.type):
                self.add(
                    "CLR175",
                    f"{field} starts its first round with {show(ref.initial.value)}, but "
                    f'the output "{ref.output}" is declared {kind}.',
                )
        elif field != "loop":
            self.add(
                "CLR165",
                f'{field} reads "{ref.output}" of the previous round, but the first round has '
                "none. Give it an initial value.",
            )
        return kind

    def _own(self, value: OwnRef, field: str) -> Kind:
        name = f"{value.fact}.{value.name}" if value.fact in ("output", "input") else value.fact
        kind = self._facts.get(name)
        if kind is not None:
            return kind
        if not self._facts:
            there = (
                "Only metrics, hooks and the success condition of an HTTP request can. Outside of "
                "the step, read its outputs or depend on how it ends."
            )
        else:
            there = f"There is: {', '.join(self._facts)}.{did_you_mean(name, self._facts)}"
        self.add("CLR432", f"{field} reads own.{name}, which is not known there. {there}")
        return ANY

    def _field(self, value: Field, field: str, covered: bool) -> None:
        kind = self.kind(value.of, field, covered)
        first = value.path[0] if value.path else None
        if is_file(kind.type):
            self.not_a_file(kind, field)
        elif (
            (kind.family in ("number", "bool") and first is not None)
            or (kind.family == "list" and isinstance(first, str))
            or (kind.family == "dict" and isinstance(first, int))
        ):
            self.add("CLR185", f"{field} takes the part {first!r} of a value of type {kind}.")

    def _is_certain(self, value: FirstOf) -> bool:
        """Return whether some option can be read, whatever is skipped or fails."""
        from couler.ir.verify.logic import Logic

        options = [self._missing(option) for option in value.options]
        if not all(options):
            return True
        logic = Logic(self.view.domains)
        either = logic.any_of(
            logic.all_of(self._formula(logic, reason) for reason in reasons) for reasons in options
        )
        return logic.results(either) == {True}

    def _formula(self, logic: Logic, reason: Reason) -> t.Any:
        if reason.condition is not None:
            return logic.formula(reason.condition)
        if reason.failed is not None:
            return logic.fact(f"failed {reason.failed}")
        if reason.succeeded is not None and self._is_never_omitted(reason.succeeded):
            return logic.negation(logic.fact(f"failed {reason.succeeded}"))
        return logic.fact(reason.key)

    def _is_never_omitted(self, name: str) -> bool:
        """Return whether a step cannot be omitted where the current step runs."""
        producer = self.view.steps[name]
        if any(isinstance(entry, AnyOf) for entry in producer.depends_on):
            return False
        own = _strict_dependencies(self.step) if self.step is not None else frozenset()
        return _strict_dependencies(producer) <= own

    def _missing(self, value: Value) -> frozenset[Reason]:
        """Return what must hold, beyond what is known, for a value to have outputs to read."""
        match value:
            case StepRef():
                if value.step not in self.view.steps:
                    outer = self.view.outer.get(value.step)
                    if outer is None or _has_default(outer, value.output):
                        return frozenset()
                    return frozenset((Reason(f"ran {value.step}"),))
                if _has_default(self.view.steps[value.step], value.output):
                    return frozenset()
                missing = self.view.reasons(value.step) - self._known()
                if value.step in self.loose:
                    missing |= {Reason(f"succeeded {value.step}", succeeded=value.step)}
                return missing
            case OrElse():
                return self._missing(value.value) and self._missing(value.default)
            case FirstOf():
                return frozenset() if self._is_certain(value) else frozenset((Reason("first"),))
        return frozenset().union(*map(self._missing, children(value)))

    def _uncertain_first_of(self, value: FirstOf, field: str) -> None:
        if not value.options:
            self.add("CLR214", f"{field} takes the first of no values. Name at least one.")
            return
        self.add(
            "CLR214",
            f"{field} takes the first of {len(value.options)} values, but it may be that none of "
            "their steps ran. Add a last one that is certain, such as a literal.",
        )

    def _unknown_parameter(self, ref: ParamRef, field: str) -> None:
        hint = self.view.report.hint(ref.name, self.view.parameters)
        owner = self.view.owner
        if owner is None:
            mend = "Declare it as a parameter of the workflow."
        else:
            mend = f'Inside a group only its inputs can be read: add an input to "{owner.name}".'
        self.add(
            "CLR161", f'{field} reads the parameter "{ref.name}", which is unknown.{hint} {mend}'
        )

    def _unknown_step(self, ref: StepRef, field: str) -> Kind:
        self.add(
            "CLR160",
            f'{field} reads {ref.step}.{ref.output}, but there is no step "{ref.step}" '
            f"{self.view.where}.{self.view.report.hint(ref.step, self.view.steps)}",
        )
        return ANY

    def _unknown_output(self, ref: StepRef, field: str) -> Kind:
        known = tuple(self.view.outputs_of(ref.step))
        self._no_such_output(self.view.readable[ref.step], ref.output, field, known)
        return ANY

    def _no_such_output(
        self, producer: Step, output: str, field: str, known: tuple[str, ...]
    ) -> None:
        there = f"It has: {', '.join(known)}." if known else "It has no outputs."
        if producer.daemon and not known:
            there = "It is a daemon, which does not end before its readers start."
        self.add(
            "CLR162",
            f'{field} reads {producer.name}.{output}, but "{producer.name}" gives no such output. '
            f"{there}{did_you_mean(output, known)}",
        )

    def _own_output(self, ref: StepRef, field: str) -> Kind:
        mend = "Give the step a loop to read its previous round."
        if self.step is not None and self.step.loop is not None:
            mend = "Read the previous round instead."
        self.add("CLR166", f"{field} reads {ref.step}.{ref.output}, its own output. {mend}")
        return ANY


def _has_default(step: Step, name: str) -> bool:
    if step.foreach is not None:  # the default is that of one item
        return False
    return any(output.name == name and output.default is not None for output in step.outputs)


def _strict_dependencies(step: Step) -> frozenset[str]:
    named = (entry for entry in step.depends_on if isinstance(entry, str))
    return frozenset((*named, *implied_dependencies(step)))


def show(value: object) -> str:
    """Return a value as short text for a message."""
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
