"""Values that a person enters for a step that waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.errors import WireError
from couler.ir.diagnostics import did_you_mean
from couler.ir.wire import MAX_VALUE_BYTES, check_size, decode
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
