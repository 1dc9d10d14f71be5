"""The types of values as verification knows them, and whether one can stand for another."""

from __future__ import annotations

import typing as t

from couler.errors import WireError
from couler.ir.values import ValueType, decode, is_file, literal_type, matches
from couler.ir.workflow import MAIN, STDOUT, Container, ContainerSet, Http, Script, Step


class Kind(t.NamedTuple):
    """A declared type, or a list with an element of that type for each item of a foreach."""

    type: ValueType
    many: bool = False

    def __str__(self) -> str:
        return f"a list of {self.type}" if self.many else self.type

    @property
    def is_file(self) -> bool:
        """Whether it is one file or directory."""
        return not self.many and is_file(self.type)

    @property
    def family(self) -> str:
        """The kind of JSON value: equality between two families never holds."""
        return "list" if self.many else _FAMILIES.get(self.type, self.type)


FILE_TYPES = frozenset(("file", "directory"))

ANY = Kind("json")
TEXT = Kind("str")
LIST = Kind("list")

_FAMILIES: dict[ValueType, str] = {"int": "number", "float": "number"}

_WITH_STDOUT = (Container, Script, Http)
_STDOUT_ONLY = {STDOUT: TEXT}
_NONE: dict[str, Kind] = {}


def output_kinds(step: Step, *, each: bool = False) -> t.Mapping[str, Kind]:
    """Return the outputs that a step has for its readers, or `each` item of it for itself."""
    has_stdout = isinstance(step.action, _WITH_STDOUT) and not step.daemon
    if isinstance(step.action, ContainerSet):
        has_stdout = has_main(step.action)
    many = step.foreach is not None and not each
    if not step.outputs and not many:
        return _STDOUT_ONLY if has_stdout else _NONE
    kinds = {STDOUT: Kind("str", many)} if has_stdout else {}
    for output in step.outputs:
        kinds[output.name] = Kind(output.type, many)
    return kinds


def has_main(action: ContainerSet) -> bool:
    """Return whether a set has the container whose files and output are those of the step."""
    return any(container.name == MAIN for container in action.containers)


def literal_kind(value: object) -> Kind:
    """Return the type of a JSON value; null may be anything."""
    return Kind(literal_type(value))


def common_kind(kinds: t.Iterable[Kind]) -> Kind:
    """Return the type that all have, or any."""
    found = set(kinds)
    return found.pop() if len(found) == 1 else ANY


def is_certainly_not(kind: Kind, declared: ValueType) -> bool:
    """Return whether no value of a kind can be read as a declared type."""
    if declared in ("str", "json") or kind in (ANY, TEXT):
        return False
    return kind.family != _FAMILIES.get(declared, declared)


def is_readable(value: object, declared: ValueType) -> bool:
    """Return whether a JSON value can be read where a type is declared."""
    if matches(value, declared) or declared == "str":
        return True
    if not isinstance(value, str):
        return False
    try:
        decode(value, declared)
    except WireError:
        return False
    return True
