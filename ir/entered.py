"""Values that a person enters for a step that waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.errors import ParameterError, WireError
from couler.ir.diagnostics import did_you_mean
from couler.ir.parameters import value_of_type
from couler.ir.wire import MAX_VALUE_BYTES, check_size, decode, encode
from couler.ir.workflow import Output


def check_entered(outputs: Iterable[Output], entered: Mapping[str, str]) -> None:
    """Refuse what cannot be given on.

    Parameters
    ----------
    outputs
        What the step gives on.
    entered
        Texts by the names of outputs.

    Raises
    ------
    WireError
        A name is unknown, a value is missing, or a text is not of the declared type or too large.

    Examples
    --------
    >>> check_entered((Output(name="rate", type="float"),), {"rate": "0.1"})
    >>> check_entered((Output(name="rate", type="float"),), {})
    Traceback (most recent call last):
    couler.errors.WireError: a value for "rate" must be entered: -p rate=...
    """
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
    """Return what a person enters, as texts on the wire.

    Parameters
    ----------
    outputs
        What the step gives on.
    given
        Values by the names of outputs. Texts are read as the declared type, but for `PlainText`;
        other values have to be of it.

    Raises
    ------
    WireError
        As `check_entered`; or a value is not of the declared type.

    Examples
    --------
    >>> entered_texts((Output(name="rate", type="float"),), {"rate": 0.5})
    {'rate': '0.5'}
    """
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
