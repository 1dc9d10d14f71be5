"""Calls of functions that the program gives, and what is told of those that cannot be called."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.dsl._context import ProgramError
from couler.dsl.checks import shown

R = t.TypeVar("R")


def call_program(what: str, function: Callable[..., R], *args: object) -> R:
    """Call a function of the program that makes steps, and return what it returns."""
    try:
        return function(*args)
    except TypeError as error:
        trace = error.__traceback__
        if trace is not None and trace.tb_next is None:  # the call itself, nothing inside
            raise ProgramError("CLR144", f"{what}: {_why(function, args, error)}") from error
        raise


def _why(function: object, args: tuple[object, ...], error: TypeError) -> str:
    if not callable(function):
        return (
            f"{shown(function)} is no function. Give one that makes the steps when it is called, "
            "such as lambda: train(3)"
        )
    count = "no argument" if not args else f"{len(args)} argument{'s'[: len(args) - 1]}"
    return f"{error}; it is called with {count}. A lambda can give it others: lambda: train(3)"
