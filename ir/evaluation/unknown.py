"""Values that steps have not given yet: what a plan knows of them is their type."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from couler.ir.cachekey import text_digest
from couler.ir.evaluation.iteration import gather, gather_one
from couler.ir.evaluation.outputs import scope_outputs
from couler.ir.evaluation.values import Gathered, Outputs, Single, Stored, View, bind_input
from couler.ir.values import Value, ValueType
from couler.ir.workflow import Input, Output


class UnknownValueError(Exception):
    """A value is read that is not known yet.

    Attributes
    ----------
    token
        What it is, if nothing that runs changes it; empty for what is to be made.
    """

    def __init__(self, token: str = "") -> None:
        super().__init__(token)
        self.token = token


class Unknown(Single):
    """A value, or a whole list, that is not known yet: it is handed on, but cannot be read.

    Examples
    --------
    >>> Unknown.of("int").type
    'int'
    """

    __slots__ = ()

    @classmethod
    def of(cls, type_: ValueType, token: str = "") -> t.Self:
        """Return an unknown value of a declared type."""
        return cls(token, type_)

    @property
    def token(self) -> str:
        """What the value is; empty if it is to be made."""
        return self[0]

    @property
    def text(self) -> str:
        """Raise `UnknownValueError`."""
        raise UnknownValueError(self[0])


def with_tokens(view: View) -> View:
    """Return a view in which unknown values that are there are known by their tokens."""

    def known(outputs: Mapping[str, Stored]) -> dict[str, Stored]:
        return {name: _token_of(stored) for name, stored in outputs.items()}

    return replace(
        view,
        parameters=known(view.parameters),
        steps={name: known(outputs) for name, outputs in view.steps.items()},
        items=known(view.items),
        round=None if view.round is None else known(view.round),
    )


def _token_of(stored: Stored) -> Stored:
    if isinstance(stored, Gathered):
        return Gathered(tuple(None if one is None else _single(one) for one in stored.items))
    return _single(stored)


def _single(stored: Single) -> Single:
    if isinstance(stored, Unknown) and stored.token:
        return Single(stored.token, "str")
    return stored


def unknown_outputs(outputs: Iterable[Output]) -> Outputs:
    """Return the outputs of a step that runs."""
    return {output.name: Unknown.of(output.type) for output in outputs}


def bind_known(inputs: Iterable[Input], view: View) -> Mapping[str, Stored]:
    """Return what a group is given, as far as it is known."""
    bound: dict[str, Stored] = {}
    for given in inputs:
        try:
            bound[given.name] = bind_input(given, view)
        except UnknownValueError as error:
            bound[given.name] = Unknown.of(given.type, _made_token(error.token, given.value))
    return bound


def known_outputs(outputs: Iterable[Output], view: View) -> Outputs:
    """Return the outputs of a scope, as far as they are known."""
    known: dict[str, Stored] = {}
    for output in outputs:
        try:
            known.update(scope_outputs((output,), view))
        except UnknownValueError as error:
            known[output.name] = Unknown.of(output.type, _made_token(error.token, output.value))
    return known


def gather_known(outputs: Iterable[Output], items: Sequence[Outputs]) -> Outputs:
    """Return the lists that the items of a foreach give, each item as far as it is known."""
    known: dict[str, Stored] = {}
    for output in outputs:
        try:
            known.update(gather((output.name,), items))
        except UnknownValueError:  # nobody knows how large the list is
            known[output.name] = gather_one(output.name, items)
    return known


def _made_token(token: str, value: Value | None) -> str:
    """Return the token of a value that is made of an unknown one."""
    if not token or value is None:
        return ""
    return text_digest(f"{token} {value.model_dump_json()}")
