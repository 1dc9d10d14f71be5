"""Values that steps have not given yet: what a plan knows of them is their type."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence

from couler.ir.evaluation.iteration import gather, gather_one
from couler.ir.evaluation.outputs import scope_outputs
from couler.ir.evaluation.values import Outputs, Single, Stored, View, bind_input
from couler.ir.wire import ValueType
from couler.ir.workflow import Input, Output


class UnknownValueError(Exception):
    """A value is read that is not known yet."""


class Unknown(Single):
    """A value, or a whole list, that is not known yet: it is handed on, but cannot be read.

    Examples
    --------
    >>> Unknown.of("int").type
    'int'
    """

    __slots__ = ()

    @classmethod
    def of(cls, type_: ValueType) -> t.Self:
        """Return an unknown value of a declared type."""
        return cls("", type_)

    @property
    def text(self) -> str:
        """Raise `UnknownValueError`."""
        raise UnknownValueError


def unknown_outputs(outputs: Iterable[Output]) -> Outputs:
    """Return the outputs of a step that runs."""
    return {output.name: Unknown.of(output.type) for output in outputs}


def bind_known(inputs: Iterable[Input], view: View) -> Mapping[str, Stored]:
    """Return what a group is given, as far as it is known.

    Raises
    ------
    EvaluationError, WireError
        As `bind_input`.
    """
    bound: dict[str, Stored] = {}
    for given in inputs:
        try:
            bound[given.name] = bind_input(given, view)
        except UnknownValueError:
            bound[given.name] = Unknown.of(given.type)
    return bound


def known_outputs(outputs: Iterable[Output], view: View) -> Outputs:
    """Return the outputs of a scope, as far as they are known.

    Raises
    ------
    EvaluationError, WireError
        As `scope_outputs`.
    """
    known: dict[str, Stored] = {}
    for output in outputs:
        try:
            known.update(scope_outputs((output,), view))
        except UnknownValueError:
            known[output.name] = Unknown.of(output.type)
    return known


def gather_known(outputs: Iterable[Output], items: Sequence[Outputs]) -> Outputs:
    """Return the lists that the items of a foreach give, each item as far as it is known.

    Raises
    ------
    WireError
        As `gather`.
    """
    known: dict[str, Stored] = {}
    for output in outputs:
        try:
            known.update(gather((output.name,), items))
        except UnknownValueError:  # nobody knows how large the list is
            known[output.name] = gather_one(output.name, items)
    return known
