"""What the annotations of a typed step mean: how a value travels, and which values fit."""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import enum
import inspect
import os
import pathlib
import sys
import types
import typing as t
from collections.abc import Callable, Mapping, Sequence

from couler.ir.base import freeze_json
from couler.ir.semantics.wire import matches
from couler.ir.values import ValueType, literal_type
from couler.ir.workflow import DataType, NamedType

Check: t.TypeAlias = Callable[[t.Any], bool]


class File(str):
    """The path of a file that travels between steps."""

    __slots__ = ()

    @property
    def path(self) -> str:
        """The path as plain text."""
        return str(self)


class Directory(File):
    """The path of a folder that travels between steps."""

    __slots__ = ()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class TypeSpec:
    """A type, as far as values travel by it.

    Attributes
    ----------
    wire
        The type that the IR declares.
    label
        The type as a program writes it, for messages.
    data
        The type as scripts read and write it.
    accepts
        Whether a Python value fits.
    item
        Type of the items of a list.
    fields
        Types of the fields of a dataclass or NamedTuple.
    classes
        The classes whose source the shipped script needs, those that others use first.
    optional
        None fits as well.
    gathered
        A list that a foreach gathered; the engine makes it.
    is_untyped
        Text that a process wrote, which may read as any value.
    parts
        Types of the items of a tuple that has so many.
    file_name
        Name of the file, if it is known before the run.
    """

    wire: ValueType
    label: str
    data: DataType
    accepts: Check
    item: TypeSpec | None = None
    fields: Mapping[str, TypeSpec] | None = None
    classes: tuple[type, ...] = ()
    optional: bool = False
    gathered: bool = False
    is_untyped: bool = False
    parts: tuple[TypeSpec, ...] | None = None
    file_name: str | None = None

    @property
    def is_file(self) -> bool:
        """Whether values are files or directories."""
        return self.wire in ("file", "directory")

    @property
    def is_files(self) -> bool:
        """Whether values are files, directories or lists of them."""
        return self.is_file or (self.item is not None and self.item.is_file)


class UnsupportedTypeError(Exception):
    """An annotation whose values cannot travel; the message says why and what to use."""


def is_json(value: object) -> bool:
    """Return whether a value has a JSON form."""
    try:
        freeze_json(value)
    except ValueError:
        return False
    return True


STR = TypeSpec(
    "str", "str", DataType(kind="str"), lambda v: isinstance(v, str) and not isinstance(v, File)
)
INT = TypeSpec("int", "int", DataType(kind="int"), lambda v: matches(v, "int"))
FLOAT = TypeSpec(
    "float",
    "float",
    DataType(kind="float"),
    lambda v: matches(v, "float") and abs(v) <= sys.float_info.max,
)
BOOL = TypeSpec("bool", "bool", DataType(kind="bool"), lambda v: matches(v, "bool"))
FILE = TypeSpec("file", "File", DataType(kind="file"), lambda v: isinstance(v, str | os.PathLike))
PATH = TypeSpec("file", "pathlib.Path", DataType(kind="path"), FILE.accepts)
DIRECTORY = TypeSpec("directory", "Directory", DataType(kind="directory"), FILE.accepts)
PRINTED = TypeSpec("str", "text", DataType(kind="str"), STR.accepts, is_untyped=True)
JSON = TypeSpec("json", "any", DataType(kind="json"), is_json)
UNKNOWN = TypeSpec("json", "any", JSON.data, lambda value: True)
"""The type of what was reported as wrong: it fits everything, so that nothing is said twice."""
LIST = TypeSpec(
    "list",
    "list",
    DataType(kind="list", item=JSON.data),
    lambda v: isinstance(v, list | tuple),
    item=JSON,
)
DICT = TypeSpec(
    "dict",
    "dict",
    DataType(kind="dict", item=JSON.data),
    lambda v: isinstance(v, dict) and is_json(v),
)

_SIMPLE: dict[object, TypeSpec] = {
    str: STR,
    int: INT,
    float: FLOAT,
    bool: BOOL,
    File: FILE,
    Directory: DIRECTORY,
    pathlib.Path: PATH,
    list: LIST,
    tuple: LIST,
    dict: DICT,
    object: JSON,
    t.Any: JSON,
}
_WIRE: dict[ValueType, TypeSpec] = {
    "str": STR,
    "int": INT,
    "float": FLOAT,
    "bool": BOOL,
    "file": FILE,
    "directory": DIRECTORY,
    "list": LIST,
    "dict": DICT,
    "json": JSON,
}


def spec_of_wire(value_type: ValueType) -> TypeSpec:
    """Return the type that the IR declares by this word."""
    return _WIRE[value_type]


def spec_at(wire: ValueType, path: str | None) -> TypeSpec:
    """Return the type of what is written at a path."""
    if wire not in ("file", "directory"):
        return _WIRE[wire]
    name = os.path.basename(os.path.normpath(path or ""))
    return dataclasses.replace(_WIRE[wire], file_name=None if name in (".", "..") else name)


def one_of(specs: Sequence[TypeSpec]) -> TypeSpec:
    """Return the type of a value that is one of several."""
    first = specs[0]
    if all(one is first for one in specs):
        return first
    if first.is_file and all(one.wire == first.wire for one in specs):
        names = {one.file_name for one in specs}
        found = spec_at(first.wire, names.pop() if len(names) == 1 else None)
        return optional_of(found) if specs[-1].optional else found
    return JSON


def spec_of_value(value: object) -> TypeSpec:
    """Return the type of a JSON value."""
    if isinstance(value, File):
        return DIRECTORY if isinstance(value, Directory) else FILE
    if not isinstance(value, list | tuple):
        return _WIRE[literal_type(value)]
    kinds = {spec_of_value(item) for item in value}
    return list_of(kinds.pop()) if len(kinds) == 1 else LIST


def list_of(item: TypeSpec, *, gathered: bool = False) -> TypeSpec:
    """Return the type of lists of a type."""
    if item is UNKNOWN:
        return UNKNOWN
    accepts = item.accepts
    return TypeSpec(
        "list",
        f"list[{item.label}]",
        DataType(kind="list", item=item.data),
        lambda value: isinstance(value, list | tuple) and all(map(accepts, value)),
        item=item,
        classes=item.classes,
        gathered=gathered,
    )


def spec_of(annotation: object) -> TypeSpec:
    """Return the type that an annotation stands for."""
    try:
        return _SIMPLE[annotation]
    except (KeyError, TypeError):  # not simple, or not hashable
        pass
    if isinstance(annotation, t.TypeVar):
        return JSON
    if isinstance(annotation, t.NewType):
        return spec_of(annotation.__supertype__)
    if isinstance(annotation, type) and t.get_origin(annotation) is None:
        return _spec_of_class(annotation)
    return _spec_of_generic(annotation)


def _spec_of_generic(annotation: object) -> TypeSpec:
    origin, args = t.get_origin(annotation), t.get_args(annotation)
    if origin is t.Annotated:
        return spec_of(args[0])
    if origin is t.Literal:
        return _choices(args)
    if origin in (t.Union, types.UnionType):
        return _union(args)
    if origin is tuple and not (len(args) == 2 and args[1] is ...):
        return _tuple_of([spec_of(arg) for arg in args])
    if origin in (list, tuple, collections.abc.Sequence, collections.abc.Iterable):
        return list_of(spec_of(args[0]))
    if origin in (dict, collections.abc.Mapping, collections.abc.MutableMapping):
        if args[0] is not str:
            raise UnsupportedTypeError(f"the keys of {_label(annotation)} must be str")
        return _dict_of(spec_of(args[1]))
    if origin in (set, frozenset, collections.abc.Set):
        raise UnsupportedTypeError(
            f"a {_label(annotation)} does not travel; use list, and sorted()"
        )
    raise UnsupportedTypeError(
        f"values of {_label(annotation)} cannot travel between steps; use a JSON type or File"
    )


def _spec_of_class(cls: type) -> TypeSpec:
    if is_record(cls):
        return _record(cls)
    if t.is_typeddict(cls):
        return DICT
    if issubclass(cls, enum.Enum):
        return _enumeration(cls)
    if issubclass(cls, os.PathLike):
        raise UnsupportedTypeError(
            f"a {cls.__name__} does not travel; use File (from couler import File)"
        )
    for known, instead in _INSTEAD:
        if issubclass(cls, known):
            raise UnsupportedTypeError(f"a {cls.__name__} does not travel; use {instead}")
    if hasattr(cls, "model_dump"):
        raise UnsupportedTypeError(
            f"a {cls.__name__} does not travel, as it needs a package; use a dataclass, or dict "
            "and .model_dump()"
        )
    raise UnsupportedTypeError(
        f"values of {cls.__name__} cannot travel between steps; write them to a File (from couler "
        "import File), or use a dataclass or NamedTuple of JSON values"
    )


_INSTEAD: tuple[tuple[t.Any, str], ...] = (
    ((datetime.date, datetime.time), "str, and .isoformat()"),
    (datetime.timedelta, "float, and .total_seconds()"),
    ((set, frozenset), "list, and sorted()"),
    ((bytes, bytearray), "str, or write it to a File (from couler import File)"),
    (complex, "str"),
)
"""What to write in place of types whose values cannot travel."""


def is_record(cls: object) -> t.TypeGuard[type]:
    """Return whether a class is a dataclass or a NamedTuple."""
    if not isinstance(cls, type):
        return False
    return dataclasses.is_dataclass(cls) or (issubclass(cls, tuple) and hasattr(cls, "_fields"))


def record_fields(cls: type) -> dict[str, TypeSpec]:
    """Return the types of the fields of a dataclass or NamedTuple."""
    try:
        hints = t.get_type_hints(cls)
    except NameError as error:
        raise UnsupportedTypeError(f"the fields of {cls.__name__}: {error}") from error
    if dataclasses.is_dataclass(cls):
        names = tuple(field.name for field in dataclasses.fields(cls) if field.init)
    else:
        names = cls._fields  # type: ignore[attr-defined]  # of a NamedTuple
    fields = {}
    for name in names:
        try:
            fields[name] = spec_of(hints.get(name, object))
        except UnsupportedTypeError as error:
            raise UnsupportedTypeError(f"the field {name} of {cls.__name__}: {error}") from None
    return fields


def _record(cls: type) -> TypeSpec:
    fields = record_fields(cls)
    defaults = {
        name
        for name, one in inspect.signature(cls).parameters.items()
        if one.default is not one.empty
    }
    parts = tuple(
        NamedType(name=name, type=spec.data, has_default=name in defaults)
        for name, spec in fields.items()
    )
    inner = dict.fromkeys(one for spec in fields.values() for one in spec.classes)
    return TypeSpec(
        "dict",
        cls.__name__,
        DataType(kind="record", name=class_name(cls), fields=parts),
        lambda value: isinstance(value, cls),
        fields=fields,
        classes=(*inner, cls),
    )


def _enumeration(cls: type[enum.Enum]) -> TypeSpec:
    is_text = all(isinstance(member.value, str) for member in cls)
    has_form = all(json_form(member.value) is member.value for member in cls)
    values = STR.data if is_text else None if has_form else JSON.data
    return TypeSpec(
        "str" if is_text else "json",
        cls.__name__,
        DataType(kind="enum", name=class_name(cls), item=values),
        lambda value: isinstance(value, cls),
        classes=(cls,),
    )


def class_name(cls: type) -> str:
    """Return the name of a class in the script of a step: `Outer_Inner` for one within another."""
    return cls.__qualname__.rpartition("<locals>.")[2].replace(".", "_")


def _choices(values: tuple[object, ...]) -> TypeSpec:
    kinds = {spec_of_value(value) for value in values}
    of = kinds.pop() if len(kinds) == 1 else JSON
    label = f"Literal[{', '.join(map(repr, values))}]"
    return dataclasses.replace(
        of, label=label, accepts=lambda v: any(v == one and type(v) is type(one) for one in values)
    )


def _tuple_of(items: list[TypeSpec]) -> TypeSpec:
    def accepts(value: object) -> bool:
        if not isinstance(value, list | tuple) or len(value) != len(items):
            return False
        return all(spec.accepts(one) for spec, one in zip(items, value, strict=True))

    return TypeSpec(
        "list",
        f"tuple[{', '.join(spec.label for spec in items)}]",
        DataType(
            kind="tuple",
            fields=tuple(NamedType(name=str(at), type=of.data) for at, of in enumerate(items)),
        ),
        accepts,
        item=JSON,
        classes=tuple(dict.fromkeys(one for spec in items for one in spec.classes)),
        parts=tuple(items),
    )


def _dict_of(value_spec: TypeSpec) -> TypeSpec:
    def accepts(value: object) -> bool:
        return isinstance(value, dict) and all(
            isinstance(key, str) and value_spec.accepts(one) for key, one in value.items()
        )

    return TypeSpec(
        "dict",
        f"dict[str, {value_spec.label}]",
        DataType(kind="dict", item=value_spec.data),
        accepts,
        item=value_spec,
        classes=value_spec.classes,
    )


def _union(members: tuple[object, ...]) -> TypeSpec:
    specs = [spec_of(member) for member in members if member is not type(None)]
    optional = len(specs) < len(members)
    if len(specs) == 1:
        return optional_of(specs[0])
    if any(spec.classes or spec.is_file for spec in specs):
        raise UnsupportedTypeError(
            f"{' | '.join(spec.label for spec in specs)}: only JSON types can be mixed"
        )
    checks = [spec.accepts for spec in specs]
    label = " | ".join(spec.label for spec in specs) + (" | None" if optional else "")
    return TypeSpec(
        "json",
        label,
        JSON.data,
        lambda value: (optional and value is None) or any(check(value) for check in checks),
        optional=optional,
    )


def optional_of(spec: TypeSpec) -> TypeSpec:
    """Return the type of the values of a type, or None."""
    data = spec.data.model_copy(update={"optional": True})
    if spec.is_files:  # files have no null; what is not there is left out
        data = data if spec.is_file else spec.data
        return dataclasses.replace(spec, label=f"{spec.label} | None", data=data, optional=True)
    return dataclasses.replace(
        spec,
        wire="json",
        label=f"{spec.label} | None",
        data=data,
        accepts=lambda value: value is None or spec.accepts(value),
        optional=True,
    )


def _label(annotation: object) -> str:
    return str(annotation).replace("typing.", "")


def json_form(value: object) -> object:
    """Return the JSON form of a Python value: dataclasses as objects, tuples as lists."""
    if isinstance(value, enum.Enum):
        return json_form(value.value)
    if isinstance(value, File):
        return str(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {key: json_form(one) for key, one in value._asdict().items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: json_form(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, dict):
        return {key: json_form(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [json_form(one) for one in value]
    return value


def fits(given: TypeSpec, wanted: TypeSpec) -> bool:
    """Return whether values of one type can be handed over where another is wanted."""
    if given is wanted or given is UNKNOWN or wanted is UNKNOWN:
        return True
    if given.is_file or wanted.is_file:
        return given.wire == wanted.wire and (wanted.optional or not given.optional)
    if wanted.wire == "json" or given.is_untyped:
        return True
    if given.wire == "json":
        return not given.optional or wanted.optional
    if given.wire == "list" and wanted.wire == "list":
        return given.item is None or wanted.item is None or fits(given.item, wanted.item)
    return given.wire == wanted.wire or (given.wire == "int" and wanted.wire == "float")
