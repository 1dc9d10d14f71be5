"""The errors for what makes going on impossible, and calls of the program's own functions."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.dsl._places import caller_frame, shown_file
from couler.errors import DefinitionError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef

R = t.TypeVar("R")


class ProgramError(DefinitionError):
    """A program asks for what has no meaning; `diagnostic` says what, and where."""

    def __init__(self, code: str, message: str) -> None:
        frame = caller_frame()
        place = SourceRef(file=shown_file(frame.f_code.co_filename), line=frame.f_lineno)
        self.diagnostic = Diagnostic(code, message, source=place)
        super().__init__(str(self.diagnostic))


class UnknownAttributeError(ProgramError, AttributeError):
    """A value of the workflow has no part of a name, so that `hasattr` is False."""


def call_program(what: str, function: Callable[..., R], *args: object) -> R:
    """Call a function of the program that makes steps, and return what it returns.

    Parameters
    ----------
    what
        Who calls it, for messages.
    function
        The function.
    args
        Its arguments.

    Raises
    ------
    DefinitionError
        It is no function, or not one that takes these arguments.
    """
    try:
        return function(*args)
    except TypeError as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is None:  # the call itself, nothing inside
            raise ProgramError("CLR144", f"{what}: {_why(function, args, error)}") from error
        raise


def _why(function: object, args: tuple[object, ...], error: TypeError) -> str:
    if not callable(function):
        from couler.dsl.advice import shown

        return (
            f"{shown(function)} is no function. Give one that makes the steps when it is called, "
            "such as lambda: train(3)"
        )
    count = "no argument" if not args else f"{len(args)} argument{'s'[: len(args) - 1]}"
    return f"{error}; it is called with {count}. A lambda can give it others: lambda: train(3)"
