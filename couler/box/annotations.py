"""Annotations: they must be types, as Couler evaluates them, and so texts in them too."""

from __future__ import annotations

import ast
import typing as t

from couler.box.bindings import Bindings
from couler.box.words import ANNOTATIONS, MODULES

_MOST_CHARACTERS = 500


class TypeProblem(t.NamedTuple):
    """A part of an annotation that is no type."""

    line: int
    message: str


def type_problem(
    node: ast.expr,
    bindings: Bindings,
    line: int | None = None,
    within: frozenset[str] = frozenset(),
) -> TypeProblem | None:
    """Return the first part of an annotation that is no type, None if all are."""
    here = line or node.lineno

    def inner(part: ast.expr) -> TypeProblem | None:
        return type_problem(part, bindings, line, within)

    match node:
        case ast.Constant(value=str(text)):
            return _of_text(text, bindings, here, within)
        case ast.Constant() if node.value is None or node.value is ...:
            return None
        case ast.Name():
            return _of_name(node.id, bindings, here, within)
        case ast.Attribute():
            member = bindings.member_of(node)
            if member is not None and member[1] in MODULES.get(member[0], ()):
                return None
        case ast.Subscript():
            return inner(node.value) or _of_arguments(node, bindings, here, inner)
        case ast.BinOp(op=ast.BitOr()):
            return inner(node.left) or inner(node.right)
        case ast.List() | ast.Tuple():
            return next(filter(None, map(inner, node.elts)), None)
    return TypeProblem(here, f"`{ast.unparse(node):.60}` is no type")


def _of_text(
    text: str, bindings: Bindings, line: int, within: frozenset[str]
) -> TypeProblem | None:
    if len(text) > _MOST_CHARACTERS:
        return TypeProblem(line, "a text of this length is no type")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return TypeProblem(line, f'"{text:.60}" is no type')
    return type_problem(node, bindings, line, within)


def _of_name(
    name: str, bindings: Bindings, line: int, within: frozenset[str]
) -> TypeProblem | None:
    if name in bindings.members and name not in bindings.others:
        return None
    if name in bindings.classes and len(bindings.others[name]) == 1:
        return None
    if name in ANNOTATIONS and not bindings.is_bound(name):
        return None
    if name in bindings.types:
        return None
    value = bindings.aliases.get(name)
    if value is not None and name not in within:
        problem = type_problem(value, bindings, line, within | {name})
        if problem is None:
            bindings.types.add(name)
        return problem
    return TypeProblem(line, f"{name} is no type that the program imports or defines")


def _of_arguments(
    node: ast.Subscript,
    bindings: Bindings,
    line: int,
    inner: t.Callable[[ast.expr], TypeProblem | None],
) -> TypeProblem | None:
    """Look at what stands in brackets: types, but for values of Literal."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    member = bindings.member_of(node.value)
    if member == ("typing", "Literal"):
        wrong = next((one for one in parts if not isinstance(one, ast.Constant)), None)
        return None if wrong is None else TypeProblem(line, "Literal takes plain values")
    if member == ("typing", "Annotated"):
        rest = next((one for one in parts[1:] if not isinstance(one, ast.Constant)), None)
        if rest is not None:
            return TypeProblem(line, "Annotated takes a type and plain values")
        parts = parts[:1]
    return next(filter(None, map(inner, parts)), None)
