"""Values that a person enters for a step that waited."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.errors import ParameterError, WireError
from couler.ir.diagnostics import did_you_mean
from couler.ir.parameters import value_of_type
from couler.ir.semantics.wire import MAX_VALUE_BYTES, decode, encode
from couler.ir.values import check_size
from couler.ir.workflow import Output


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
