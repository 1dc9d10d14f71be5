"""What a value is in a DAG file: an expression of Python that Jinja reads as well."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from couler.backends.airflow.doubts import (
    are_doubtful,
    can_fail,
    can_grow,
    may_give_more,
)
from couler.backends.airflow.literals import form_of
from couler.backends.airflow.places import (
    Spot,
    another_round,
    axis,
    gives_plain_lists,
    is_dynamic,
    item_count,
    last_steps,
    makes_lists,
    task_name,
)
from couler.backends.airflow.python import Expression, quoted, value_of, width
from couler.ir.graph import Graph
from couler.ir.ranges import known_items
from couler.ir.semantics import NUMBER_TYPES, TEXT_TYPES, Kind, find_output, item_type
from couler.ir.semantics.wire import decode, dump_json, encode
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    Not,
    Or,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Value,
    ValueType,
    children,
    is_file,
    literal_type,
    thawed,
)
from couler.ir.workflow import Container, Group, Input, Output, Script, Step

MAY_FAIL = re.compile(r'\b(decode|field_of|numbers|part_of|plain|to_text)\(|, kind="')
"""Functions that can refuse what they read; the kind is that of lists which `gathered` decodes."""

_WIDEST = 80
"""A longer comparison is a call, which can be laid out."""
_TRUE, _FALSE = ' in (True, "true")', ' in (False, "false")'
"""What tells the value of a parameter that is declared bool, which may be given as text."""


@dataclass(frozen=True)
class Read:
    """An expression for the text of a value, and the type that its maker declared."""

    code: str
    type: ValueType = "str"
    constant: str | None = None
    """The text itself, where it is known beforehand."""
    native: str | None = None
    """An expression for the value itself, where it need not be read from text."""
    json: str | None = None
    """An expression for the value as JSON, where its type is known only when it is read."""
    alone: str | None = None
    """A shorter expression that Jinja shows as the same text, where it is all there is."""
    is_plain: bool = False
    """Whether no dollar can be in the text, whatever its type."""

    @property
    def may_have_dollars(self) -> bool:
        """Whether the kubelet might take something in the text for its own."""
        return not self.is_clean and self.type not in NUMBER_TYPES

    @property
    def is_clean(self) -> bool:
        """Whether no dollar can be in the text, also if it is none of its type."""
        return self.is_plain if self.constant is None else "$" not in self.constant

    def to(self, want: ValueType) -> Read:
        """Return what a reader of a type gets."""
        if self.json is not None and want == "json":
            return Read(self.json, "json", is_plain=self.is_plain)
        if self.type in TEXT_TYPES and want == "json":
            if self.constant is not None:
                return of_text(dump_json(self.constant), "json")
            return Read(f"json_or_none({self.code})", "json", is_plain=self.is_plain)
        if self.type == "json" and want != "json":
            if self.constant is not None:
                return of_text(encode(decode(self.constant, "json")), want)
            return Read(f"plain({self.code})", want, is_plain=self.is_plain)
        return self


def of_text(text: str, value_type: ValueType = "str") -> Read:
    """Return a value that is known beforehand."""
    return Read(quoted(text), value_type, text)


@dataclass
class Scope:
    """The names that the steps of one scope can read, as expressions."""

    steps: Mapping[str, Step]
    prefix: str = ""
    params: Mapping[str, Read] = field(default_factory=dict)
    outer: Scope | None = None
    items: Mapping[str, Read] = field(default_factory=dict)
    """Values of the items of a foreach, by name."""
    within_mapped: bool = False
    """Whether a foreach around it is mapped."""
    is_late: bool = False
    """Whether that one's items are known only when the workflow runs."""
    loop: Spot | None = None
    """The step whose rounds `RoundRef` reads."""
    is_after_round: bool = False
    """Whether a round has been: for the condition of the loop."""
    is_unsure: bool = False
    """Whether what is read need not be there."""
    has_ended: bool = False
    """Whether all steps have ended: for exit handlers."""

    @cached_property
    def _beside(self) -> frozenset[str]:
        return frozenset(self.steps)

    def task(self, step: str) -> str:
        """Return the id of the task of a step."""
        return f"{self.prefix}{task_name(step)}"

    def spot(self, step: Step) -> Spot:
        """Return where the tasks of a step are."""
        items = axis(step, within_mapped=self.within_mapped)
        return Spot(step, self.task(step.name), items, self._beside)

    def gathered_from(self, step: Step) -> tuple[str, Expression]:
        """Return where the items of a step are, and how many: a number, or the task that knows."""
        spot, foreach = self.spot(step), step.foreach
        assert foreach is not None
        rows = value_of(spot.maker if spot.has_maker else item_count(foreach))
        place = spot.end_of_item if not spot.is_plain else spot.base
        if spot.items == "unrolled":
            place = spot.base + place[len(spot.base) :].replace("#", "*", 1)
        return place, rows

    def leaves(self, step: Step) -> list[str]:
        """Return the ids of the tasks with which a step ends."""
        if makes_lists(step):
            return [self.spot(step).own("lists")]
        ends = self.spot(step).ends()
        if ends or not isinstance(step.action, Group):
            return ends
        return self.inside(step, step.action).all_leaves(step.action.steps)

    def all_leaves(self, steps: tuple[Step, ...]) -> list[str]:
        """Return the ids of the tasks with which the scope ends."""
        by_name = {step.name: step for step in steps}
        return [task for name in last_steps(steps) for task in self.leaves(by_name[name])]

    def inside(self, step: Step, group: Group) -> Scope:
        """Return the scope inside a group."""
        given = Inputs(step.inputs, self.input)
        steps = {one.name: one for one in group.steps}
        spot = self.spot(step)
        mapped = self.within_mapped or spot.items == "mapped"
        late = self.is_late_inside(step)
        return Scope(steps, f"{spot.round}.", given, within_mapped=mapped, is_late=late)

    def is_late_inside(self, step: Step) -> bool:
        """Return whether Airflow knows the tasks inside of a step only when the workflow runs."""
        return self.is_late or (step.foreach is not None and is_dynamic(step.foreach))

    def given(self, output: Output) -> str:
        """Return the expression for what a group or a workflow gives out, inside of it."""
        assert output.value is not None, "outputs of groups and workflows have values"
        unsure = self.is_unsure or output.default is not None
        code = replace(self, is_unsure=unsure).read(output.value).to(output.type).code
        code = self._fitting(output, code)
        if output.default is None:
            return code
        return f"first_of({code}, {quoted(encode(output.default, output.type))})"

    def has_doubts(self, outputs: Iterable[Output]) -> bool:
        """Return whether one of the outputs of the scope can be refused, or be too large."""
        return are_doubtful(outputs, self.steps, self._types)

    def _fitting(self, output: Output, code: str) -> str:
        """Return the expression for an output that fails if it is too large to travel."""
        assert output.value is not None, "outputs of groups and workflows have values"
        if not can_grow(output.value, output.type, self.steps, self._types):
            return code
        return f"fitting({quoted(output.name)}, {code})"

    def refusable(self, step: Step) -> dict[str, str]:
        """Return the expressions for the inputs of a step that can be refused."""
        steps = {**(self.outer.steps if self.outer else {}), **self.steps}
        loop = None if self.loop is None else self.loop.step
        return {
            one.name: self.input(one.value, one.type).code
            for one in step.inputs
            if one.value and can_fail(one.value, one.type, steps, self._types, loop)
        }

    @property
    def _types(self) -> dict[str, Kind]:
        if isinstance(self.params, Inputs):
            return self.params.types
        return {name: Kind(read.type) for name, read in self.params.items()}

    def input(self, value: Value, want: ValueType) -> Read:
        """Return what an input of a type gets."""
        read = self.read(value).to(want)
        return replace(read, type=want, json=None)

    def read(self, value: Value) -> Read:
        """Return the expression for a value."""
        match value:
            case Literal():
                return of_text(encode(value.value), literal_type(value.value))
            case ParamRef():
                return self.params[value.name]
            case StepRef():
                return self._output(value)
            case Field():
                return self._field(value)
            case OrElse() | FirstOf():
                return self._first(children(value))
            case Template():
                return self._template(value)
            case RunRef(field="id"):
                return Read("ti.run_id")
            case ItemRef():
                return self.items[value.name]
            case RunRef(field="status"):
                code = '("failed" if run_failed(ti, LEAVES) else "succeeded")'
                return Read(code, is_plain=True)
            case RunRef():
                return Read("run_time(ti)", is_plain=True)
            case Range():
                return self._range(value)
            case RoundRef():
                return self._previous(value)
            case OwnRef():
                raise AssertionError(f"{value.kind} is refused by the capabilities")
        t.assert_never(value)

    def _field(self, value: Field) -> Read:
        path = ", ".join(quoted(key) if isinstance(key, str) else str(key) for key in value.path)
        whole = self.read(value.of)
        if self._is_checked(value.of) and whole.type in ("json", "dict", "list"):
            code, more = f"field_of({whole.code}, {path}", ", as_json=True)"
            return Read(f"{code})", "str", json=code + more, is_plain=whole.is_clean)
        code = f"part_of({whole.to('str').code}, {path})"
        return Read(code, "json", is_plain=whole.is_clean)

    def _first(self, options: Sequence[Value]) -> Read:
        """Return the first that is there; where their types differ, its type is known when read."""
        reads: list[Read] = []
        for option in options:
            reads.append(replace(self, is_unsure=True).read(option))
            if reads[-1].constant is not None:  # it always is there
                break
        if len(reads) == 1:
            return reads[0]
        same = {"str" if one.type in TEXT_TYPES else one.type for one in reads}
        is_plain = all(one.is_clean for one in reads)
        if len(same) == 1 and all(one.json is None for one in reads):
            code = _first_code([one.code for one in reads])
            return Read(code, reads[0].type, is_plain=is_plain)
        text, as_json = (
            _first_code([one.to(want).code for one in reads]) for want in ("str", "json")
        )
        return Read(text, "str", json=as_json, is_plain=is_plain)

    def _where_it_ended_well(self, spot: Spot, code: str) -> str:
        """Return what is not there where a step was skipped or failed, whatever ran inside."""
        step, place = spot.step, quoted(spot.base)
        if step.foreach is not None:
            if not spot.has_maker:
                code = f"if_started(ti, {place}, {code})"
            if not self.has_ended:  # the lists of one that failed are there
                return code
        elif isinstance(step.action, Group) and not spot.is_iterated and not spot.has_end:
            return self._where_it_ran(spot, code)
        elif spot.is_plain or (spot.has_end and step.loop is None) or not self._can_have_failed:
            return code
        leaves = value_of(self.leaves(step)).flat()
        return f'({code} if not ended_so(ti, "failure", {place}, {leaves}) else None)'

    def _where_it_ran(self, spot: Spot, code: str) -> str:
        """Return what a group without an end gives: nothing where it did not run, or failed."""
        if not (self._can_have_failed or may_give_more(spot.step)):
            return code
        ends = value_of([spot.gate, *self.leaves(spot.step)]).flat()
        return f"if_it_ran(ti, {ends}, {code})"

    @property
    def _can_have_failed(self) -> bool:
        """Whether what reads a step can run after it failed."""
        entries = [entry for step in self.steps.values() for entry in step.depends_on]
        return self.has_ended or not all(isinstance(entry, str) for entry in entries)

    def _range(self, value: Range) -> Read:
        known = known_items(value)
        if known is not None:
            return of_text(dump_json([*known]), "list")
        parts = [self.read(value.start).code]
        for name in ("count", "end"):
            end = getattr(value, name)
            if end is not None:
                parts.append(f"{name}={self.read(end).code}")
        if value.format is not None:
            parts.append(f"form={quoted(form_of(value.format, ''))}")
        return Read(
            f"numbers({', '.join(parts)})", "list", is_plain="$" not in (value.format or "")
        )

    def _previous(self, value: RoundRef) -> Read:
        assert self.loop is not None, "verification has found the loop"
        before = another_round(self.loop.end_of_round, "#-1")
        declared = find_output(self.loop.step, value.output)
        read = _output_of(before, value.output)
        if self.is_after_round:
            return Read(read, declared.type)
        initial = "None"
        if value.initial is not None:
            initial = self.read(value.initial).to(declared.type).code
        return Read(f"first_of({read}, {initial})", declared.type)

    def _output(self, value: StepRef) -> Read:
        step = self.steps.get(value.step)
        if step is None:
            assert self.outer is not None, "verification has found the step"
            return replace(self.outer, is_unsure=True, has_ended=True)._output(value)
        declared = find_output(step, value.output)
        spot = self.spot(step)
        if spot.items is not None:
            read = self._gathered(spot, declared)
            if not self.is_unsure:
                return read
            return replace(read, code=self._where_it_ended_well(spot, read.code))
        if step.loop is not None:
            last = another_round(spot.end_of_round)
            code = _output_of(last, value.output, is_item=self.within_mapped)
        elif spot.has_end:
            code = _output_of(spot.end_of_round, value.output, is_item=self.within_mapped)
        elif isinstance(step.action, Group):
            assert declared.value is not None, "outputs of groups have values"
            unsure = self.is_unsure or declared.default is not None
            inside = replace(self.inside(step, step.action), is_unsure=unsure)
            code = inside.read(declared.value).to(declared.type).code
        elif self._is_surely_there(step, declared):
            code = f"ti.xcom_pull({quoted(spot.base)})[{quoted(value.output)}]"
        else:
            code = _output_of(spot.base, value.output, is_item=self.within_mapped)
        if self.is_unsure or declared.default is not None:
            code = self._where_it_ended_well(spot, code)
        if declared.default is not None:
            code = f"first_of({code}, {quoted(encode(declared.default, declared.type))})"
        return Read(code, declared.type, is_plain=_is_plain(declared, step))

    def _is_checked(self, value: Value) -> bool:
        """Return whether a value is there, and of its type, before what reads it can start."""
        if self.is_unsure or not isinstance(value, StepRef) or value.step not in self.steps:
            return False
        step = self.steps[value.step]
        has_default = find_output(step, value.output).default is not None
        return step.is_function and step.foreach is None and not has_default

    def items_of(self, value: Value) -> ValueType | None:
        """Return what the items of a list are, if plain, and known or given by functions."""
        if isinstance(value, Literal):
            kinds = {literal_type(one) for one in known_items(value) or ()}
            items: str | None = kinds.pop() if len(kinds) == 1 else None
        elif not isinstance(value, StepRef) or value.step not in self.steps:
            return None
        elif self.lists_are_plain(self.steps[value.step]):
            items = find_output(self.steps[value.step], value.output).type
        else:
            is_checked = self._is_checked(value)
            items = item_type(self.steps[value.step], value.output) if is_checked else None
        is_plain = items in (*TEXT_TYPES, *NUMBER_TYPES)
        return t.cast("ValueType", items) if is_plain else None

    def result(self, output: Output) -> str:
        """Return the expression for an output of the workflow, as a value of its type."""
        code, value = self.given(output), output.value
        if isinstance(value, StepRef) and self._is_checked(value) and output.default is None:
            own = find_output(self.steps[value.step], value.output).type
            if own == output.type and own not in TEXT_TYPES and self._always_runs(value.step):
                return _decoded(code, own)
        return typed(code, output.type)

    def lists_are_plain(self, step: Step) -> bool:
        """Return whether what the items of a step give can be read as it is, and is there."""
        return gives_plain_lists(step) and self._always_runs(step.name)

    def _is_surely_there(self, step: Step, output: Output) -> bool:
        is_made = isinstance(step.action, Container | Script) and not output.optional
        return is_made and output.default is None and self._always_runs(step.name)

    def _always_runs(self, name: str) -> bool:
        """Return whether a step has run well before anything that reads it is looked at."""
        if self.prefix or self.outer is not None or self.is_unsure or self.has_ended:
            return False
        return name not in self._may_not_run

    @cached_property
    def _may_not_run(self) -> frozenset[str]:
        """The steps that have a condition or wait for more than successes, and those after one."""
        graph, found = Graph.of(tuple(self.steps.values())), set[str]()
        for name in graph.topological_order:
            step = self.steps[name]
            is_plain = step.when is None and all(isinstance(one, str) for one in step.depends_on)
            if not is_plain or not found.isdisjoint(graph.predecessors[name]):
                found.add(name)
        return frozenset(found)

    def _gathered(self, spot: Spot, declared: Output) -> Read:
        is_number = declared.type in NUMBER_TYPES
        is_plain = is_number or _is_plain(declared, spot.step)
        if self.lists_are_plain(spot.step):
            given = [quoted(spot.base), quoted(declared.name)]
            given += [quoted(spot.maker)] if spot.has_maker else []
            texts = f'ti.xcom_pull([{given[0]}]) | map(attribute={given[1]}) | join(",")'
            alone = f'"[" + {texts} + "]"' if is_number and not spot.has_maker else None
            given += ["texts=True"] if declared.type in TEXT_TYPES else []
            code = f"listed(ti, {', '.join(given)})"
            return Read(code, "list", alone=alone, is_plain=is_plain)
        place, rows = self.gathered_from(spot.step)
        code = f"gathered(ti, {quoted(place)}, {quoted(declared.name)}, {rows.flat()}"
        if declared.type not in TEXT_TYPES:
            code += f", kind={quoted(declared.type)}"
        if declared.default is not None:
            code += f", default={quoted(encode(declared.default, declared.type))}"
        return Read(f"{code})", "list", is_plain=is_plain)

    def _template(self, value: Template) -> Read:
        parts = [
            of_text(one) if isinstance(one, str) else self.read(one).to("str")
            for one in value.parts
        ]
        if all(one.constant is not None for one in parts):
            return of_text("".join(one.constant or "" for one in parts))
        if len(parts) == 1:
            return replace(parts[0], type="str", json=None, native=None)
        is_plain = all(one.is_clean for one in parts)
        return Read(f"joined({', '.join(one.code for one in parts)})", is_plain=is_plain)

    def condition(self, condition: Condition) -> str:
        """Return a condition as an expression of Python."""
        match condition:
            case Compare():
                return self._comparison(condition)
            case And() | Or():
                word = " and " if isinstance(condition, And) else " or "
                parts = [self._inner(one) for one in condition.items]
                return word.join(parts) or str(isinstance(condition, And))
            case Not():
                return f"not {self._inner(condition.item)}"
        t.assert_never(condition)

    def _comparison(self, given: Compare) -> str:
        """Return a comparison: by the signs of Python where they mean the same."""
        left, right = self._operand(given.left), self._operand(given.right)
        kinds = {self._kind(given.left), self._kind(given.right)}
        is_equality = given.op in ("==", "!=")
        code = f"{left} {given.op} {right}"
        are_alike = len(kinds) == 1 or _is_small(given.left) or _is_small(given.right)
        means_the_same = (kinds <= {"int", "float"} and are_alike) or (
            kinds == {"text"} and is_equality
        )
        if means_the_same and width(code) <= _WIDEST:
            return code
        if kinds == {"bool"} and is_equality and isinstance(given.right, Literal):
            is_wanted = bool(given.right.value) == (given.op == "==")
            if left.endswith(_TRUE):
                return left if is_wanted else left.removesuffix(_TRUE) + _FALSE
            if left.startswith(("decode(", "json.loads(")):
                return left if is_wanted else f"not {left}"
        return f"compare({left}, {quoted(given.op)}, {right})"

    def _kind(self, value: Value) -> str | None:
        """Return what a value is, if it can be nothing else."""
        if isinstance(value, Literal):
            found: ValueType = literal_type(value.value)
        else:
            read = self.read(value)
            found = read.type if read.json is None else "json"
        return {"str": "text", "int": "int", "float": "float", "bool": "bool"}.get(found)

    def _inner(self, condition: Condition) -> str:
        code = self.condition(condition)
        return f"({code})" if isinstance(condition, And | Or) else code

    def _operand(self, value: Value) -> str:
        """Return the expression for a value itself, not for its text."""
        if isinstance(value, Literal):
            return (
                repr(thawed(value.value))
                if not isinstance(value.value, str)
                else quoted(value.value)
            )
        read = self.read(value)
        if read.native is not None:
            return read.native
        if read.json is not None:
            is_checked = isinstance(value, Field) and self._is_checked(value.of)
            return f"{'json.loads' if is_checked else 'decode'}({read.json})"
        if self._is_checked(value) and read.type not in TEXT_TYPES:
            return _decoded(read.code, read.type)
        kind = "" if read.type == "json" else f", {quoted(read.type)}"
        return read.code if read.type in TEXT_TYPES else f"decode({read.code}{kind})"


def _decoded(code: str, kind: ValueType) -> str:
    """Return the expression for the value of a text that a function wrote."""
    return f"{kind}({code})" if kind in ("int", "float") else f"json.loads({code})"


def typed(code: str, kind: ValueType) -> str:
    """Return the expression for the value of a text; for the text itself if it is none."""
    return code if kind in TEXT_TYPES else f"typed({code}, {quoted(kind)})"


def _is_small(value: Value) -> bool:
    """Return whether a value is a whole number that is the same as a float."""
    return isinstance(value, Literal) and type(value.value) is int and abs(value.value) <= 2**53


def _first_code(codes: Sequence[str]) -> str:
    """Return the expression for the first of several that is there."""
    if not any(map(MAY_FAIL.search, codes[1:])):
        return f"first_of({', '.join(codes)})"
    *earlier, whole = codes
    for code in reversed(earlier):  # what is not needed must not fail
        whole = f"({code} if {code} is not None else {whole})"
    return whole


def _output_of(place: str, name: str, *, is_item: bool = False) -> str:
    more = "" if name == "result" else f", {quoted(name)}"
    is_near = is_item or "#" in place or "*" in place
    return f"{'output_near' if is_near else 'output'}(ti, {quoted(place)}{more})"


def _is_plain(declared: Output, step: Step) -> bool:
    """Return whether an output is the location of a file that its own step has kept."""
    is_made_here = isinstance(step.action, Container | Script) and is_file(declared.type)
    return is_made_here and declared.default is None


R = t.TypeVar("R")


class Inputs(Mapping[str, R]):
    """The inputs of a group by name, each made when it is asked for, and once."""

    def __init__(self, inputs: Iterable[Input], read: Callable[[Value, ValueType], R]) -> None:
        self._values = {one.name: (one.value, one.type) for one in inputs if one.value is not None}
        self._read = read
        self._made: dict[str, R] = {}

    @property
    def types(self) -> dict[str, Kind]:
        """The declared types by name."""
        return {name: Kind(declared) for name, (_, declared) in self._values.items()}

    def __getitem__(self, name: str) -> R:
        if name not in self._made:
            self._made[name] = self._read(*self._values[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
