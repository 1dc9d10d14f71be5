"""The semantics of workflows, shared by verification and all engines; here the types of values."""

from __future__ import annotations

import functools
import typing as t
from collections.abc import Iterable, Mapping

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
    ValueType,
    children,
    is_file,
    literal_type,
)
from couler.ir.workflow import (
    MAIN,
    STDOUT,
    Container,
    ContainerSet,
    Http,
    Output,
    Script,
    Step,
)


class Kind(t.NamedTuple):
    """A declared type, or a list with an element of that type for each item of a foreach."""

    type: ValueType
    many: bool = False

    def __str__(self) -> str:
        return f"a list of {self.type}" if self.many else self.type

    @property
    def wire(self) -> ValueType:
        """The type by which the text that travels is read."""
        return "list" if self.many else self.type

    @property
    def is_file(self) -> bool:
        """Whether it is one file or directory."""
        return not self.many and is_file(self.type)

    @property
    def family(self) -> str:
        """The kind of JSON value: equality between two families never holds."""
        return "list" if self.many else _FAMILIES.get(self.type, self.type)


TEXT_TYPES: tuple[ValueType, ...] = ("str", "file", "directory")
"""Types whose values travel as text, not as JSON."""
NUMBER_TYPES: tuple[ValueType, ...] = ("int", "float", "bool")
"""Types whose values travel as one word of JSON."""
SHORT_TYPES: tuple[ValueType, ...] = (*NUMBER_TYPES, "file", "directory")
"""Types whose values are short, without quotes, line ends and braces."""

ANY = Kind("json")
TEXT = Kind("str")
LIST = Kind("list")

_FAMILIES: dict[ValueType, str] = {"int": "number", "float": "number"}


def output_kinds(step: Step, *, each: bool = False) -> t.Mapping[str, Kind]:
    """Return the outputs that a step has for its readers, or `each` item of it for itself."""
    has_stdout = isinstance(step.action, Container | Script | Http) and not step.daemon
    if isinstance(step.action, ContainerSet):
        has_stdout = has_main(step.action)
    many = step.foreach is not None and not each
    kinds = {STDOUT: Kind("str", many)} if has_stdout else {}
    for output in step.outputs:
        kinds[output.name] = Kind(output.type, many)
    return kinds


def has_main(action: ContainerSet) -> bool:
    """Return whether a set has the container whose files and output are those of the step."""
    return any(container.name == MAIN for container in action.containers)


def find_output(step: Step, name: str) -> Output:
    """Return an output of a step by name; one that is not declared is text."""
    return next((output for output in step.outputs if output.name == name), None) or _text(name)


def item_type(step: Step, output: str) -> str | None:
    """Return what the items of a list are declared that a function gives; None if not known."""
    call = step.action.call if isinstance(step.action, Script) else None
    for one in call.outputs if call else ():
        data = one.type
        if one.name == output and data.kind == "list" and not data.optional and data.item:
            return None if data.item.optional else data.item.kind
    return None


@functools.cache
def _text(name: str) -> Output:
    return Output(name=name)


def kind_of(
    value: Value, step: Step | None, steps: Mapping[str, Step], params: Mapping[str, Kind]
) -> Kind:
    """Return the type of a value that a step reads in its scope; any where it is not known."""
    match value:
        case Literal():
            return Kind(literal_type(value.value))
        case ParamRef():
            return params.get(value.name, ANY)
        case StepRef() if value.step in steps:
            return output_kinds(steps[value.step]).get(value.output, ANY)
        case RoundRef() if step is not None:
            return output_kinds(step, each=True).get(value.output, ANY)
        case ItemRef() if step is not None and step.foreach is not None:
            items = step.foreach.over.get(value.name)
            if isinstance(items, Literal) and isinstance(items.value, tuple):
                return common_kind(Kind(literal_type(item)) for item in items.value)
            if isinstance(items, Range):
                return Kind("int" if items.format is None else "str")
            over = ANY if items is None else kind_of(items, None, steps, params)
            return Kind(over.type) if over.many else ANY
        case OwnRef(fact="input") if step is not None:
            given = next(given for given in step.inputs if given.name == value.name)
            return Kind(given.type, given.many)
        case OwnRef():
            return Kind(_FACTS.get(value.fact, "str"))
        case RunRef() | Template():
            return TEXT
        case Range():
            return LIST
        case OrElse() if isinstance(value.default, Literal):
            return kind_of(value.value, step, steps, params)
        case OrElse() | FirstOf():
            return common_kind(kind_of(one, step, steps, params) for one in children(value))
        case Field() if not value.path:
            return kind_of(value.of, step, steps, params)
    return ANY


_FACTS: dict[str, ValueType] = {"duration_s": "float", "exit_code": "int", "status_code": "int"}


def common_kind(kinds: Iterable[Kind]) -> Kind:
    """Return the type that all have, or any."""
    found = set(kinds)
    return found.pop() if len(found) == 1 else ANY
