"""A program for building: without what is shipped, which must not run there."""

from __future__ import annotations

import ast
import builtins
import typing as t
from pathlib import Path

from couler.box.shipped import shipped_functions
from couler.dsl._problems import ProgramError

_NAME = "__couler_body_of_a_step__"


class StepBodyError(ProgramError):
    """The body of a step was reached while its workflow is built."""


def _refuse(name: str) -> t.NoReturn:
    raise StepBodyError(
        "CLR626",
        f'the function "{name}" is run while the workflow is built, but it is shipped: it runs as '
        "a step. Call it inside `with couler.Workflow(...):`, where a call makes a step, and do "
        "not call one step from within another",
    )


def read_without_bodies(path: str) -> ast.Module:
    """Return a program in which the functions that are shipped refuse to run."""
    tree = ast.parse(Path(path).read_text(encoding="utf-8"), path)
    for function in shipped_functions(tree):
        call = ast.Call(ast.Name(_NAME, ast.Load()), [ast.Constant(function.name)], [])
        # What stands behind it is not reached, but tells Python the variables of the function.
        refusal = ast.Expr(call)
        ast.copy_location(refusal, function.body[0])
        ast.fix_missing_locations(refusal)
        function.body.insert(0, refusal)
    setattr(builtins, _NAME, _refuse)
    return tree
