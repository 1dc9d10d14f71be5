"""The ancestor's `depends` text: names of steps and their ends, joined by `&&` and `||`."""

from __future__ import annotations

import re
import typing as t

from couler.ir.policies import AnyOf, Dependency

Option: t.TypeAlias = str | Dependency
Clause: t.TypeAlias = tuple[Option, ...]
"""Alternatives of which one is enough."""

MAX_CLAUSES = 64

_TOKEN = re.compile(r"\s*(?:(&&|\|\||[()!])|([A-Za-z0-9_][-A-Za-z0-9_]*)(?:\.([A-Za-z]+))?)")
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
    parser = _Parser(text)
    clauses = _smallest([_merge(clause) for clause in parser.parse()])
    return tuple(clause[0] if len(clause) == 1 else AnyOf(options=clause) for clause in clauses)


class _Parser:
    """Reads the text from left to right; `&&` binds more tightly than `||`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.token: tuple[str, str | None, str | None] = ("", None, None)
        self.advance()

    def advance(self) -> None:
        """Read the next token: an operator, or a name with how its step ends."""
        if not self.text[self.at :].strip():
            self.token = ("end", None, None)
            return
        match = _TOKEN.match(self.text, self.at)
        if match is None:
            raise self.error(f"{self.text[self.at :].strip()[:20]!r} is no name and no operator")
        self.at = match.end()
        operator, name, end = match.groups()
        self.token = (operator or "name", name, end)

    def parse(self) -> list[Clause]:
        clauses = self.either()
        if self.token[0] != "end":
            raise self.error(f"{self.token[1] or self.token[0]!r} is not expected here")
        return clauses

    def either(self) -> list[Clause]:
        clauses = self.all()
        while self.token[0] == "||":
            self.advance()
            other = self.all()
            if len(clauses) * len(other) > MAX_CLAUSES:
                raise DependsError("CLR132", f"{self.text!r} is too long; name fewer alternatives")
            clauses = [tuple(dict.fromkeys((*one, *two))) for one in clauses for two in other]
        return clauses

    def all(self) -> list[Clause]:
        clauses = self.one()
        while self.token[0] == "&&":
            self.advance()
            clauses = [*clauses, *self.one()]
        return clauses

    def one(self) -> list[Clause]:
        kind, name, end = self.token
        if kind == "!":
            raise DependsError(
                "CLR132", f"{self.text!r} says what must not have happened; say what must have"
            )
        if kind == "(":
            self.advance()
            clauses = self.either()
            if self.token[0] != ")":
                raise self.error("a parenthesis is not closed")
            self.advance()
            return clauses
        if kind != "name" or name is None:
            raise self.error("a name of a step is missing")
        if end not in _ENDS:
            raise DependsError(
                "CLR132",
                f"{name}.{end} in {self.text!r}: a step can wait for .Succeeded, .Failed or "
                ".Errored of another",
            )
        self.advance()
        outcome = _ENDS[end]
        return [(name if outcome == "success" else Dependency(step=name, on=outcome),)]

    def error(self, message: str) -> DependsError:
        return DependsError("CLR131", f"{self.text!r} cannot be read: {message}")


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
