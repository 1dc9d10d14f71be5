"""From a function to the inputs and outputs of a step."""

from __future__ import annotations

import inspect
import typing as t
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from couler.dsl.scope import Returns
from couler.dsl.shipping import METHOD, is_method
from couler.dsl.sources import returned_paths
from couler.dsl.types import (
    UNKNOWN,
    TypeSpec,
    UnsupportedTypeError,
    is_record,
    record_fields,
    spec_at,
    spec_of,
)
from couler.ir.workflow import STDOUT, Output

RESERVED_FIELDS = frozenset({"or_else", "step_name"})
"""Attributes of every handle, which a field of the same name could not be read past."""

_UNKNOWN_RETURNS = Returns(
    (Output(type="json", path=f"outputs/{STDOUT}"),), {STDOUT: UNKNOWN}, main=STDOUT
)
"""Stand for a result that was reported as wrong."""


@dataclass(frozen=True, slots=True)
class Argument:
    """A parameter of a function."""

    name: str
    spec: TypeSpec
    required: bool
    default: object = None


@dataclass(slots=True)
class Signature:
    """What a function takes and gives, and what is wrong with how it says so."""

    arguments: dict[str, Argument] = field(default_factory=dict)
    returns: Returns = field(default_factory=Returns)
    classes: tuple[type, ...] = ()
    problems: list[tuple[str, str]] = field(default_factory=list)
    required: frozenset[str] = frozenset()
    """Names of the arguments that have no default."""
    takes_any: bool = False
    """It has `*args` or `**kwargs`, which is reported once."""
    is_readable: bool = True
    """It can be that of a step, and its annotations have a meaning."""


def read_signature(
    function: Callable[..., t.Any],
    text: str,
    names: Mapping[str, t.Any] | None = None,
    returns: object = None,
) -> Signature:
    """Return the inputs and outputs that a function's parameters and annotations stand for.

    Its file had the text when the function was defined. `returns` stands for the annotation of what
    it returns.
    """
    found = Signature()
    if is_method(function):
        found.problems.append(("CLR109", METHOD))
        found.is_readable = False
    try:
        hints = t.get_type_hints(function, localns=names and dict(names), include_extras=True)
    except (NameError, TypeError, AttributeError) as error:
        if found.is_readable:
            found.problems.append(("CLR108", f"its annotations cannot be read: {error}"))
        found.is_readable = False
        hints = {}
    parameters = inspect.signature(function).parameters
    classes: dict[type, None] = {}
    for name, parameter in parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            message = f"{stars}{name} takes any number of values; name them, or take a list or dict"
            found.problems.append(("CLR109", message))
            found.takes_any = True
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            found.problems.append(("CLR109", f"{name} has no name to its callers; drop the `/`"))
        spec = UNKNOWN
        try:
            if found.is_readable:
                spec = spec_of(hints.get(name, object))
        except UnsupportedTypeError as error:
            found.problems.append(("CLR108", f"argument {name}: {error}"))
        required = parameter.default is parameter.empty
        found.arguments[name] = Argument(name, spec, required, parameter.default)
        classes.update(dict.fromkeys(spec.classes))
    _check_parts(found)
    if found.is_readable:
        _read_returns(found, returns or hints.get("return"), classes)
        _name_files(found.returns, function, text)
    else:
        found.returns = _UNKNOWN_RETURNS
    found.classes = tuple(classes)
    if not is_method(function):
        found.required = frozenset(one.name for one in found.arguments.values() if one.required)
    return found


def _check_parts(found: Signature) -> None:
    """Refuse names that the parts of another argument would take."""
    for name, argument in found.arguments.items():
        item, fields = argument.spec.item, argument.spec.fields
        if item is not None and fields is None:
            fields = item.fields
        for other in found.arguments:
            rest = other.removeprefix(name + "_")
            if rest == other:
                continue
            if (item is not None and rest.isdigit()) or (fields is not None and rest in fields):
                found.problems.append(
                    ("CLR109", f"the names {name} and {other} collide; rename one of them")
                )


def _read_returns(found: Signature, annotation: object, classes: dict[type, None]) -> None:
    if annotation in (None, type(None)):
        return
    try:
        if is_record(annotation):
            specs = record_fields(annotation)
            inner = [one for spec in specs.values() for one in spec.classes]
            classes.update(dict.fromkeys((*inner, annotation)))
        else:
            specs = {STDOUT: spec_of(annotation)}
            classes.update(dict.fromkeys(specs[STDOUT].classes))
    except UnsupportedTypeError as error:
        found.problems.append(("CLR108", f"its result: {error}"))
        found.returns = _UNKNOWN_RETURNS
        return
    for name, spec in specs.items():
        if spec.item is not None and spec.item.is_file:
            message = f"its result {name}: a list of files cannot be given out; use a Directory"
            found.problems.append(("CLR108", message))
        if name in RESERVED_FIELDS:
            found.problems.append(("CLR109", f"the field {name} of its result must be renamed"))
    outputs = tuple(
        Output(name=name, type=spec.wire, path=f"outputs/{name}") for name, spec in specs.items()
    )
    if is_record(annotation):
        found.returns = Returns(outputs, specs, is_record=True)
    else:
        found.returns = Returns(outputs, specs, main=STDOUT)


def _name_files(returns: Returns, function: Callable[..., t.Any], text: str) -> None:
    """Give the files that a function returns the names that its source states."""
    if any(spec.is_file for spec in returns.specs.values()):
        paths = returned_paths(function, text, tuple(returns.specs) if returns.is_record else None)
        for name, spec in returns.specs.items():
            if spec.is_file:
                returns.specs[name] = spec_at(spec.wire, paths.get(name))
