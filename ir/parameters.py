"""Values that a run is started with, and those that a person enters for a step that waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.errors import ParameterError, WireError
from couler.ir.base import freeze_json
from couler.ir.diagnostics import did_you_mean
from couler.ir.semantics.wire import MAX_VALUE_BYTES, decode, encode, matches
from couler.ir.values import ValueType, check_size, is_same
from couler.ir.walk import unsendable
from couler.ir.workflow import Output, Parameter


class PlainText(str):
    """A text that is the value itself, and no writing of a value of another type.

    It comes of files, which tell the text "5" and the number 5 apart, as a command line cannot.
    """

    __slots__ = ()


def read_parameter(parameter: Parameter, value: object) -> object:
    """Return a value that a user gives for a parameter, as its type has it."""
    if parameter.nullable_text and isinstance(value, str) and not isinstance(value, PlainText):
        value = None if value == "null" else PlainText(value)
    found = value_of_type(value, parameter.type)
    if parameter.nullable_text and not isinstance(found, str | None):
        raise ParameterError(f"{value!r} is no text")
    check_choice(parameter, found)
    problem = unsendable(found)
    if problem is not None:
        raise ParameterError(problem)
    return found


def check_choice(parameter: Parameter, value: object) -> None:
    """Refuse a value that is none of a parameter's choices."""
    if parameter.choices and not any(is_same(value, choice) for choice in parameter.choices):
        choices = ", ".join(repr(choice) for choice in parameter.choices)
        raise ParameterError(f"{value!r} is none of its choices: {choices}")


def parameter_texts(declared: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, str]:
    """Return what a run is given, as texts on the wire."""
    names = [parameter.name for parameter in declared]
    problems = [unknown_parameter(name, names) for name in given if name not in names]
    texts: dict[str, str] = {}
    for parameter in declared:
        name = parameter.name
        try:
            if name in given:
                texts[name] = encode(read_parameter(parameter, given[name]), parameter.type)
                check_size(texts[name], MAX_VALUE_BYTES, "the value")
            elif parameter.required and parameter.config is None:
                raise ParameterError("a value is required")
        except (ParameterError, WireError) as error:
            problems.append(f'parameter "{name}": {error}')
    if problems:
        raise ParameterError("\n".join(problems))
    return texts


def with_values(declared: tuple[Parameter, ...], texts: Mapping[str, str]) -> tuple[Parameter, ...]:
    """Return parameters that have for their defaults what a run is given."""
    return tuple(
        _with_value(parameter, texts[parameter.name]) if parameter.name in texts else parameter
        for parameter in declared
    )


def _with_value(parameter: Parameter, text: str) -> Parameter:
    value = freeze_json(decode(text, parameter.type))
    return parameter.model_copy(update={"default": value, "required": False, "config": None})


def unknown_parameter(name: str, names: list[str]) -> str:
    """Return the complaint about a name that no parameter has."""
    hint = did_you_mean(name, names)
    if not hint:
        hint = f" The workflow has: {', '.join(names) or 'none'}"
    return f'there is no parameter "{name}".{hint}'


def value_of_type(value: object, value_type: ValueType) -> object:
    """Return a value as a declared type has it; raises as `read_parameter`."""
    if isinstance(value, PlainText):
        if not matches(str(value), value_type):
            raise ParameterError(f"{value!r} is a text, and its type is {value_type}")
        return str(value)
    if isinstance(value, str) and (value_type == "json" or not matches(value, value_type)):
        value = decode(value, value_type)
    try:
        frozen = freeze_json(value)
    except (RecursionError, ValueError) as error:
        raise ParameterError(str(error)) from error
    if not matches(frozen, value_type):
        raise ParameterError(f"{value!r} is not of its type, {value_type}")
    return frozen


def check_entered(outputs: Iterable[Output], entered: Mapping[str, str]) -> None:
    """Refuse what cannot be given on."""
    declared = {output.name: output for output in outputs}
    for name in entered:
        if name not in declared:
            raise WireError(f'it gives no "{name}" on.{did_you_mean(name, declared)}')
    for name, output in declared.items():
        if name not in entered:
            if output.default is None:
                raise WireError(f'a value for "{name}" must be entered: -p {name}=...')
            continue
        check_size(entered[name], MAX_VALUE_BYTES, f'the value for "{name}"')
        if output.type != "str":
            decode(entered[name], output.type)


def entered_texts(outputs: Iterable[Output], given: Mapping[str, object]) -> dict[str, str]:
    """Return what a person enters, as texts on the wire."""
    declared = tuple(outputs)
    texts = dict.fromkeys(given, "")  # what has an unknown name is refused below
    for output in declared:
        if output.name not in given:
            continue
        try:
            value = value_of_type(given[output.name], output.type)
        except ParameterError as error:
            raise WireError(f'the value for "{output.name}": {error}') from error
        texts[output.name] = encode(value, output.type)
    check_entered(declared, texts)
    return texts
