"""The ancestor's `depends` text: names of steps and their ends, joined by `&&` and `||`."""

from __future__ import annotations

import ast
import re
import typing as t
from itertools import chain, product
from math import prod

from couler.ir.policies import AnyOf, Dependency

Option: t.TypeAlias = str | Dependency
Clause: t.TypeAlias = tuple[Option, ...]
"""Alternatives of which one is enough."""

MAX_CLAUSES = 64

_TOKEN = re.compile(r"([A-Za-z0-9_][-A-Za-z0-9_]*)(?:\.([A-Za-z]+))?|&&|\|\||[()!]")
_PYTHON = {"&&": " and ", "||": " or ", "!": " not "}
_ENDS: dict[str | None, t.Literal["success", "failure"]] = {
    None: "success",
    "Succeeded": "success",
    "Failed": "failure",
    "Errored": "failure",
}


class DependsError(ValueError):
    """A text that cannot be read (CLR131), or asks for what cannot be expressed (CLR132)."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def parse_depends(text: str) -> tuple[Option | AnyOf, ...]:
    """Return the dependencies that a text stands for: all of them must be met."""
    clauses = _smallest([_merge(clause) for clause in _parse(text)])
    return tuple(clause[0] if len(clause) == 1 else AnyOf(options=clause) for clause in clauses)


def _parse(text: str) -> list[Clause]:
    """Return what must be met; Python parses the text, with its operators and a variable a name."""
    names: list[tuple[str, str | None]] = []

    def python(token: re.Match[str]) -> str:
        if token[1] is None:
            return _PYTHON.get(token[0], token[0])
        names.append((token[1], token[2]))
        return f" _{len(names) - 1} "

    unknown = _TOKEN.sub(" ", text).split()
    if unknown:
        raise _unreadable(text, f"{unknown[0]!r} is no name and no operator")
    try:
        tree = ast.parse(" ".join(_TOKEN.sub(python, text).split()), mode="eval")
    except SyntaxError:
        raise _unreadable(text) from None
    return _clauses(tree.body, names, text)


def _clauses(node: ast.expr, names: list[tuple[str, str | None]], text: str) -> list[Clause]:
    match node:
        case ast.Name():
            name, end = names[int(node.id[1:])]
            if end not in _ENDS:
                message = "a step can wait for .Succeeded, .Failed or .Errored of another"
                raise DependsError("CLR132", f"{name}.{end} in {text!r}: {message}")
            outcome = _ENDS[end]
            return [(name if outcome == "success" else Dependency(step=name, on=outcome),)]
        case ast.BoolOp():
            parts = [_clauses(value, names, text) for value in node.values]
            if isinstance(node.op, ast.And):
                return [*chain(*parts)]
            if prod(map(len, parts)) > MAX_CLAUSES:
                raise DependsError("CLR132", f"{text!r} is too long; name fewer alternatives")
            return [tuple(dict.fromkeys(chain(*options))) for options in product(*parts)]
        case ast.UnaryOp():
            message = "says what must not have happened; say what must have"
            raise DependsError("CLR132", f"{text!r} {message}")
    raise _unreadable(text)


def _unreadable(
    text: str, why: str = "names of steps are joined by && and ||, and grouped by ( and )"
) -> DependsError:
    return DependsError("CLR131", f"{text!r} cannot be read: {why}")


def _merge(clause: Clause) -> Clause:
    """Say `completion` where a clause takes success and failure of one step alike."""
    merged: dict[Option, None] = {}
    for option in clause:
        name = option if isinstance(option, str) else option.step
        if name in clause and Dependency(step=name, on="failure") in clause:
            option = Dependency(step=name, on="completion")
        merged[option] = None
    return tuple(merged)


def _smallest(clauses: list[Clause]) -> list[Clause]:
    """Leave out clauses that are met whenever another is."""
    kept = []
    for index, clause in enumerate(clauses):
        implied = any(
            set(other) < set(clause) or (set(other) == set(clause) and place < index)
            for place, other in enumerate(clauses)
        )
        if not implied:
            kept.append(clause)
    return kept
