"""The parameters that a run is started with."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends.local.values import Single, as_type, from_json
from couler.errors import ParameterError, WireError
from couler.ir.base import freeze_json
from couler.ir.diagnostics import did_you_mean
from couler.ir.wire import MAX_VALUE_BYTES, check_size, decode, matches
from couler.ir.workflow import Parameter


def bind_parameters(
    declared: tuple[Parameter, ...], given: Mapping[str, object]
) -> dict[str, Single]:
    """Return the value of each parameter of a run.

    Parameters
    ----------
    declared
        The parameters of the workflow.
    given
        Values by name. Text for a parameter of another type is read as JSON.

    Raises
    ------
    ParameterError
        Names are unknown, values are missing, of the wrong type or not among the choices; the
        message tells all of it.

    Examples
    --------
    >>> bind_parameters((Parameter(name="depth", type="int", default=3),), {"depth": "5"})
    {'depth': Single(text='5', type='int')}
    """
    names = [parameter.name for parameter in declared]
    problems = [
        f'there is no parameter "{name}".{did_you_mean(name, names)}'
        for name in given
        if name not in names
    ]
    bound: dict[str, Single] = {}
    for parameter in declared:
        try:
            bound[parameter.name] = _bind(parameter, given)
        except (ParameterError, WireError) as error:
            problems.append(f'parameter "{parameter.name}": {error}')
    if problems:
        raise ParameterError("\n".join(problems))
    return bound


def _bind(parameter: Parameter, given: Mapping[str, object]) -> Single:
    if parameter.name not in given:
        if parameter.required:
            raise ParameterError("a value is required")
        return as_type(from_json(parameter.default), parameter.type)
    value = _read(parameter, given[parameter.name])
    if parameter.choices and not any(_same(value, choice) for choice in parameter.choices):
        choices = ", ".join(repr(choice) for choice in parameter.choices)
        raise ParameterError(f"{value!r} is none of its choices: {choices}")
    bound = as_type(from_json(value), parameter.type)
    check_size(bound.text, MAX_VALUE_BYTES, "the value")
    return bound


def _read(parameter: Parameter, value: object) -> object:
    if isinstance(value, str) and not matches(value, parameter.type):
        return decode(value, parameter.type)
    if isinstance(value, str) and parameter.type == "json":
        return decode(value, "json")
    try:
        frozen = freeze_json(value)
    except ValueError as error:
        raise ParameterError(str(error)) from error
    if not matches(frozen, parameter.type):
        raise ParameterError(f"{value!r} is not of its type, {parameter.type}")
    return frozen


def _same(value: object, choice: object) -> bool:
    return isinstance(value, bool) == isinstance(choice, bool) and value == choice
