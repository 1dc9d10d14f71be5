"""Values, ranges and conditions of a scope as Argo's tags and expressions."""

from __future__ import annotations

import copy
import json
import re
import typing as t
from collections.abc import Callable, Sequence

from couler.backends.argo.files import (
    INDEX,
    is_location,
    keeps_files,
    location_expression,
    location_of,
)
from couler.backends.argo.json_text import part, plain, raw_json
from couler.backends.argo.pods import Tree
from couler.backends.argo.scope import (
    ScopeView,
    can_be_skipped,
    can_be_survived,
    is_returned,
    is_stdout,
    may_be_unmade,
)
from couler.backends.argo.tags import (
    Tagged,
    decoding,
    encode_braces,
    encoding,
    member,
    quote,
    tag,
    variable,
)
from couler.ir.policies import Foreach
from couler.ir.semantics import NUMBER_TYPES, TEXT_TYPES
from couler.ir.semantics.wire import encode
from couler.ir.values import (
    MAX_ITEMS,
    Condition,
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
    Text,
    Value,
    ValueType,
    children,
    walk,
)
from couler.ir.walk import explicit_dependencies
from couler.ir.workflow import Plugin, Script, Step, TemplateCall

_TOO_MANY = f"a range has at most {MAX_ITEMS:,} numbers where its ends are known only in the run"

Say: t.TypeAlias = Callable[[Value], str]
"""Returns the text of a value, or an expression for it."""


def sequence(value: Range, text: Say, expression: Say) -> Tree:
    """Return the field `withSequence` of a task."""
    from couler.ir.ranges import is_known

    tree: Tree = {}
    start = text(value.start)
    if start != "0":
        tree["start"] = start
    if value.count is not None:
        count = _integer(value.count, expression)
        tree["count"] = (
            str(max(int(text(value.count)), 0))
            if isinstance(value.count, Literal)
            else tag(f"{count} > {MAX_ITEMS} ? {quote(_TOO_MANY)} : string(max({count}, 0))")
        )
    elif is_known(value):
        tree["end"] = text(_end(value))
    else:
        first, last = _integer(value.start, expression), _integer(_end(value), expression)
        distance = f"abs({last} - {first})"
        tree["end"] = tag(f"{distance} < {MAX_ITEMS} ? string({last}) : {quote(_TOO_MANY)}")
    if value.format is not None:
        tree["format"] = value.format
    return tree


def range_text(value: Range, expression: Say) -> str:
    """Return an expression for the JSON of a range; one that has too many numbers fails."""
    from couler.ir.ranges import is_known

    first = _integer(value.start, expression)
    if value.count is not None:
        count = _integer(value.count, expression)
        numbers = f"{first}..({first} + {count} - 1)"
    else:
        last = _integer(_end(value), expression)
        count = f"abs({last} - {first}) + 1"
        numbers = f"({first} <= {last} ? {first}..{last} : map(0..({first} - {last}), {first} - #))"
    if value.format is not None:
        numbers = f"map({numbers}, {_formatted(value.format)})"
    text = raw_json(numbers)
    if is_known(value):
        return text
    # What is no JSON ends the expression, and with it the step.
    return f"({count} > {MAX_ITEMS} ? fromJSON({quote(_TOO_MANY)}) : {text})"


def _integer(value: Value, expression: Say) -> str:
    if isinstance(value, Literal):
        return f"({int(t.cast('t.Any', value.value))})"
    return f"int({expression(value)})"


def _end(value: Range) -> Value:
    assert value.end is not None, "a range has a count or an end"
    return value.end


def _formatted(text: str) -> str:
    """An expression for the text that a format makes of the number `#`."""
    from couler.ir.ranges import read_format

    form = read_format(text)
    assert form is not None, "verification refuses what is no format"
    number = "string(#)"
    if form.zeros:
        missing = f"max(0, {form.width} - len(string(abs(#))) - (# < 0 ? 1 : 0))"
        number = f"(# < 0 ? '-' : '') + repeat('0', {missing}) + string(abs(#))"
    elif form.width:
        number = f"repeat(' ', max(0, {form.width} - len(string(#)))) + string(#)"
    return f"{quote(form.before)} + {number} + {quote(form.behind)}"


class Renderer:
    """Writes the values of one scope."""

    def __init__(
        self,
        view: ScopeView,
        task_names: t.Mapping[str, str],
        location: str,
        nodes: t.Literal["tasks", "steps"] = "tasks",
    ) -> None:
        self.view = view
        self._task_names = task_names
        self.location = location
        self._nodes = nodes
        self._guarded = False
        self._is_condition = False

    # texts for arguments ---------------------------------------------------------------------

    def text(
        self,
        value: Text,
        step: Step | None = None,
        want: ValueType = "str",
        *,
        encoded: bool = False,
    ) -> str:
        """Return the text of a value as the argument of a task, on request with braces encoded."""
        if isinstance(value, str | Literal):
            text = value if isinstance(value, str) else encode(value.value, want)
            return encode_braces(text) if encoded else text
        if isinstance(value, Template) and not _ends_in_brace(value):
            return Tagged("".join(self.text(part, step, encoded=encoded) for part in value.parts))
        simple = self._simple(value, step)
        if simple is not None and self._is_tag_safe(value, step, want):
            return variable(simple)
        if isinstance(value, StepRef) and self._is_location(value) and not self._is_memoized(value):
            return self.location_of(value)
        if not encoded:
            expression = self.expression_as(value, step, want)
            has_item = any(isinstance(one, ItemRef) for one in walk(value))
            # Items have their braces encoded for all steps; these have templates without decoding.
            is_foreign = step is not None and isinstance(step.action, Plugin | TemplateCall)
            return tag(decoding(expression) if has_item and is_foreign else expression)
        held = None  # what holds the value encoded
        if isinstance(value, ItemRef):
            held = self._item(value.name, step)
        elif isinstance(value, ParamRef) and value.name in self.view.encoded:
            held = member(self._parameters, value.name)
        if held is not None and self._change(held, value, step, want) == held:
            return tag(held)
        return tag(encoding(self.expression_as(value, step, want)))

    def _simple(self, value: Value, step: Step | None) -> str | None:
        """Return the name of the variable that holds a value as it is, if there is one."""
        match value:
            case ParamRef():
                return f"{self._parameters}.{value.name}"
            case ItemRef():
                name = self._item(value.name, step)
                return None if "(" in name or "[" in name else name
            case RunRef(field="id"):
                return "workflow.name"
            case RunRef(field="logical_date"):
                return self._logical_date
            case StepRef():
                producer = self.view.steps.get(value.step)
                if producer is None or producer.foreach is not None:
                    return None
                if self._is_location(value) and not self._is_made(value, step):
                    return None
                if self._default_of(value) is not None and may_be_unmade(producer, step):
                    return None  # a tag would wait for it for ever
                outputs = f"{self._nodes}.{self._task_names[value.step]}.outputs"
                if is_stdout(producer, self.view.output(value)):
                    return f"{outputs}.result"
                return f"{outputs}.parameters.{value.output}"
        return None

    @property
    def _parameters(self) -> str:
        return "workflow.parameters" if self.view.owner is None else "inputs.parameters"

    def _fact(self, name: str) -> str:
        """A fact of the run in an expression."""
        return name

    @property
    def _logical_date(self) -> str:
        return "workflow.scheduledTime" if self.view.scheduled else "workflow.creationTimestamp"

    def _item(self, name: str, step: Step | None) -> str:
        assert step is not None, "items are read by their step"
        assert step.foreach is not None, "only a foreach has items"
        return self._row_field(name, step) if self.has_rows(step, step.foreach) else "item"

    def _row_field(self, name: str, step: Step) -> str:
        return member("item" if self.has_plain_rows(step) else "fromJSON(item)", name)

    def index(self, step: Step) -> Tagged:
        """Return the position of the current row of a step."""
        field = self._row_field(INDEX, step)
        return variable(field) if self.has_plain_rows(step) else tag(field)

    def has_plain_rows(self, step: Step) -> bool:
        """Return whether Argo hands the rows of a foreach on unchanged, as objects of texts."""
        over = step.foreach.over if step.foreach is not None else {}
        return all(self.view.is_safe(ItemRef(name=name), step) for name in over)

    @staticmethod
    def has_rows(step: Step, foreach: Foreach) -> bool:
        """Return whether the items of a foreach are rows: of several lists, or numbered."""
        return len(foreach.over) > 1 or keeps_files(step)

    def _is_tag_safe(self, value: Value, step: Step | None, want: ValueType) -> bool:
        """Whether a plain tag hands a value on as it is."""
        have = self.view.type_of(value, step)
        if isinstance(value, RunRef):
            return want != "json"
        return self.view.is_safe(value, step) and not (want == "json" and have in TEXT_TYPES)

    # expressions that give the text on the wire ----------------------------------------------

    def expression(self, value: Value, step: Step | None = None) -> str:
        """Return an expression for the text by which a value travels."""
        match value:
            case Literal():
                return quote(encode(value.value))
            case ParamRef():
                parameter = member(self._parameters, value.name)
                is_encoded = value.name in self.view.encoded
                return decoding(parameter) if is_encoded else parameter
            case ItemRef():
                return self._item(value.name, step)
            case RunRef(field="id"):
                return self._fact("workflow.name")
            case RunRef(field="logical_date"):
                return self._fact(self._logical_date)
            case RunRef():
                return "(workflow.status == 'Succeeded' ? 'succeeded' : 'failed')"
            case StepRef():
                return self._reference(value)
            case Field():
                return self._field(value, step)
            case OrElse() | FirstOf():
                return self._first_of(value, step)
            case Range():
                return range_text(value, lambda end: self.expression_as(end, step, "int"))
            case Template():
                parts = [
                    quote(part) if isinstance(part, str) else self.expression_as(part, step, "str")
                    for part in value.parts
                ]
                return "(" + " + ".join(parts) + ")" if parts else "''"
            case OwnRef():
                raise AssertionError("facts of a step of its own are read in `own`")
            case RoundRef():
                raise AssertionError("the loop replaces references to rounds")
        t.assert_never(value)

    def _reference(self, value: StepRef, *, optional: bool = False) -> str:
        if value.step not in self.view.steps:
            kept = member("workflow", "outputs", "parameters", global_name(value), optional=True)
            default = self._default_of(value)
            return kept if default is None else f"({kept} ?? {quote(default)})"
        producer = self.view.steps[value.step]
        if self._is_location(value):
            own = location_expression(self.location_of(value), self._fact_in_location)
            return self._kept_place(value, own) if self._is_memoized(value) else own
        kept = self._kept(value, optional=optional)
        if producer.foreach is not None:
            gathered = f"fromJSON({kept})"
            kind = self.view.output(value).type if producer.is_function else None
            if kind in ("file", "directory"):  # Argo's list is one of places
                return f"({kept})"
            if kind not in NUMBER_TYPES:
                gathered = f"map({gathered}, fromJSON(#))"
            return f"'[' + join({gathered}, ',') + ']'"
        return kept

    def _kept(self, value: StepRef, *, optional: bool = False) -> str:
        """An expression for what Argo keeps of an output: of a foreach a list of texts."""
        producer = self.view.steps[value.step]
        task = member(self._nodes, self._task_names[value.step])
        if producer.foreach is not None:
            listed = member(task, "outputs", "parameters", value.output, optional=True)
            return f"{listed} ?? '[]'"
        default = self._default_of(value)
        is_printed = is_stdout(producer, self.view.output(value))
        # Where a condition reads what a skipped step printed, Argo waits for it for ever, also if
        # `&&` leaves it out; but not for what stands before `??`.
        is_waited_for = self._is_condition and is_printed and can_be_skipped(producer)
        is_guarded = self._guarded or is_waited_for
        may_miss = optional or is_guarded or default is not None
        if not is_printed:
            text = member(task, "outputs", "parameters", value.output, optional=may_miss)
        elif may_miss:
            # Argo keeps standard output only where it finds this very name in the template. It
            # keeps that of a process that failed, which has its default.
            failed = "" if default is None else f"{task}.status != 'Succeeded' || "
            text = f"({failed}{task}.outputs == nil ? nil : {task}.outputs.result)"
        else:
            text = member(task, "outputs", "result")
        if default is not None:
            return f"({text} ?? {quote(default)})"
        return f"({text} ?? '')" if is_guarded and not optional else text

    def _default_of(self, value: StepRef) -> str | None:
        """The text that stands for an output that was not made."""
        producer = self.view.steps.get(value.step) or self.view.outer.get(value.step)
        is_one = producer is not None and producer.foreach is None
        output = self.view.output(value)
        return (
            encode(output.default, output.type) if is_one and output.default is not None else None
        )

    def status_of(self, step: Step) -> str:
        """Return the variable that holds the state of a step of this scope."""
        return member(self._nodes, self._task_names[step.name], "status")

    def _first_of(self, value: OrElse | FirstOf, step: Step | None) -> str:
        have = self.view.type_of(value, step)
        *options, last = children(value)
        reader = self if isinstance(value, OrElse) else self._guard()
        text = reader.expression_as(last, step, have)
        for option in reversed(options):
            if isinstance(option, StepRef) and self._is_plain(option, step):
                chosen = self._reference(option, optional=True)
                if self._change(chosen, option, step, have) == chosen:  # else none looks like one
                    text = f"({chosen} ?? {text})"
                    continue
            is_there = self.available(option)
            text = f"({is_there} ? {self._where_available(option, step, have)} : {text})"
        return text

    def _where_available(self, value: Value, step: Step | None, want: ValueType) -> str:
        """A value in the branch where it is there."""
        return self._guard().expression_as(value, step, want)

    def _guard(self) -> t.Self:
        guarded = copy.copy(self)
        guarded._guarded = True
        return guarded

    def expression_as(self, value: Value, step: Step | None, want: ValueType) -> str:
        """Return an expression for the text by which a value travels to a reader of a type."""
        return self._change(self.expression(value, step), value, step, want)

    def _change(self, expression: str, value: Value, step: Step | None, want: ValueType) -> str:
        have = self.view.type_of(value, step)
        if have in TEXT_TYPES and want == "json":
            return raw_json(expression)
        if have == "json" and want in TEXT_TYPES:
            return plain(expression)
        return expression

    def _is_plain(self, value: StepRef, step: Step | None) -> bool:
        """Whether absence of a reference shows as a missing output."""
        producer = self.view.steps.get(value.step)
        if producer is None:
            return True
        if producer.foreach is not None or self._is_location(value):
            return False
        if step is None:
            return not can_be_survived(producer.name, self.view.steps.values())
        return all(
            name != value.step or on == "success" for name, on in explicit_dependencies(step)
        )

    def available(self, value: Value) -> str:
        """Return an expression that tells whether all that a value reads is there."""
        if isinstance(value, StepRef):
            return self._ran(value)
        terms = dict.fromkeys(map(self.available, children(value)))
        if isinstance(value, OrElse | FirstOf):
            return "true" if "true" in terms else f"({' || '.join(terms)})"
        terms.pop("true", None)
        return " && ".join(terms) or "true"

    def _ran(self, value: StepRef) -> str:
        producer = self.view.steps.get(value.step)
        if self._default_of(value) is not None:
            return "true"
        if producer is None:
            return f"({self._reference(value)} ?? nil) != nil"
        status = member(self._nodes, self._task_names[value.step], "status")
        if producer.foreach is None:
            return f"{status} == 'Succeeded'"
        # An empty list and a false condition both show as Skipped, so the condition decides.
        ended_well = f"{status} in ['Succeeded', 'Skipped']"
        if producer.when is None or not can_be_skipped(producer):
            return ended_well
        return f"{ended_well} && {self.condition(producer.when)}"

    def _field(self, value: Field, step: Step | None) -> str:
        base: Value = value.of
        path = value.path
        while isinstance(base, Field):
            path = base.path + path
            base = base.of
        text = self.expression_as(base, step, "str")
        if len(path) == 1 and isinstance(base, StepRef) and self._has_number(base, path[0]):
            named = quote(f'"{path[0]}":')  # quotes in texts have a backslash
            return f"split(split(trim({text}, '{{}}'), {named})[1], ',')[0]"
        return part(text, path)

    def _has_number(self, record: StepRef, field: str | int) -> bool:
        """Whether a function wrote a record of texts and numbers, one of which is a number."""
        producer = self.view.steps.get(record.step)
        if producer is None or not isinstance(producer.action, Script) or producer.foreach:
            return False
        if self._default_of(record) is not None:
            return False
        call = producer.action.call
        outputs = {} if call is None else {one.name: one.type for one in call.outputs}
        fields = outputs[record.output].fields if record.output in outputs else ()
        if any(one.type.kind not in (*NUMBER_TYPES, "str") for one in fields):
            return False
        return any(
            one.name == field and one.type.kind != "str" and not one.type.optional
            for one in fields
            if not one.has_default
        )

    # locations of files ----------------------------------------------------------------------

    def folder_of(self, value: StepRef) -> Tagged:
        """Return where the files of a foreach are; empty text if it had no items."""
        own = location_expression(self.location_of(value), self._fact_in_location)
        return tag(f"{self.has_no_files(value)} ? '' : {own}")

    def has_no_files(self, value: StepRef | ParamRef) -> str:
        """Return an expression that tells whether what is read as a folder has no files."""
        if isinstance(value, ParamRef):  # it is what `folder_of` gave outside
            return f"{self.expression(value)} == ''"
        return f"({self._kept(value)}) == '[]'"

    def location_of(self, value: StepRef) -> Tagged:
        """Return where this run puts a file that a process of this scope keeps, with tags in it."""
        return location_of(self.view, self.location, value)

    def _is_location(self, value: StepRef) -> bool:
        return is_location(self.view, value)

    def _fact_in_location(self, names: Sequence[str]) -> str:
        """A variable in a location as a term of an expression."""
        name = member(*names)
        return self._fact(name) if names[0] == "workflow" else name

    def _is_memoized(self, value: StepRef) -> bool:
        """Whether a file may be that of an earlier run: its process tells then where it is."""
        return self.view.steps[value.step].cache is not None

    def _is_made(self, value: StepRef, step: Step | None) -> bool:
        """Whether the process of a memoized file has ended well when a step reads its place."""
        producer = self.view.steps[value.step]
        if not self._is_memoized(value) or can_be_skipped(producer):
            return False
        return not may_be_unmade(producer, step)

    def _kept_place(self, value: StepRef, own: str) -> str:
        """An expression for where a memoized file is; without one, where this run would put it."""
        return f"({self._kept(value, optional=True)} ?? {own})"

    # conditions ------------------------------------------------------------------------------

    def type_of(self, value: Value) -> ValueType:
        """Return the type as which a value travels."""
        return self.view.type_of(value)

    def is_canonical(self, value: Value) -> bool:
        """Return whether a value travels as JSON of its type, written as Couler does."""
        return isinstance(value, StepRef) and is_returned(self.view.steps, value)

    def is_checked(self, value: Value) -> bool:
        """Return whether a value is known to be of its declared type: Couler made or read it."""
        if isinstance(value, ParamRef):
            return self.view.owner is None
        if not isinstance(value, StepRef):
            return isinstance(value, Literal | Range)
        producer = self.view.steps.get(value.step)
        return self.is_canonical(value) or (producer is not None and producer.foreach is not None)

    def condition(self, condition: Condition) -> str:
        """Return an expression that is true or false as the condition is."""
        from couler.backends.argo.conditions import Conditions

        reader = copy.copy(self)
        reader._is_condition = True
        return Conditions(reader).expression(condition)


class OutputRenderer(Renderer):
    """Writes the outputs of a scope, which Argo evaluates without facts of the run."""

    @property
    def _parameters(self) -> str:
        return "inputs.parameters"

    def _fact(self, name: str) -> str:
        return f"'{variable(name)}'"


def _ends_in_brace(template: Template) -> bool:
    """Whether a tag would follow a brace, which Argo would take for a part of the tag."""
    return any(isinstance(part, str) and part.endswith("{") for part in template.parts)


def global_name(reference: StepRef) -> str:
    """Return the name under which an output is kept for the exit handlers."""
    return "-".join(name.replace("-", "_") for name in (reference.step, reference.output))


_INPUT = re.compile(r"inputs\.parameters(?:\.(\w+)|\['([^']+)'\])")


def inputs_read(tree: object) -> list[str]:
    """Return the names of the inputs of a template that expressions in it read."""
    return list(dict.fromkeys(map("".join, _INPUT.findall(json.dumps(tree)))))
