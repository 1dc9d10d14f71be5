"""The source of a function or class as it runs: what a file says now may be something else."""

from __future__ import annotations
import __future__

import ast
import functools
import linecache
import os
import re
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType

from couler.ir.workflow import STDOUT

ANNOTATIONS = __future__.annotations.compiler_flag
Function: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
_PATHS = ("File", "Directory", "Path", "str", "fspath", "join")
"""What gives a path whose last part is that of its last argument."""


class SourceError(Exception):
    """There is no source that is surely what runs."""


def read_source(file: str, names: Mapping[str, t.Any]) -> str:
    """Return the text of a source file as it is now.

    A relative path is that of the module with these names, wherever the current folder is now.
    """
    place = names.get("__file__")
    if isinstance(place, str) and os.path.basename(place) == os.path.basename(file):
        file = place
    linecache.checkcache(file)
    return _shared("".join(linecache.getlines(file, dict(names))))


@functools.lru_cache(maxsize=64)
def _shared(text: str) -> str:
    """Return one text for all steps of a file."""
    return text


@functools.lru_cache(maxsize=64)
def parsed(text: str) -> ast.Module:
    """Return the syntax tree of a text."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"its source cannot be read: {error}") from error


@functools.lru_cache(maxsize=64)
def _functions(text: str) -> dict[tuple[str, int], Function]:
    """Return the definitions of functions in a text, by name and first line."""
    return {
        (node.name, first_line(node)): node
        for node in ast.walk(parsed(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def definition_of(function: FunctionType, text: str) -> Function:
    """Return the definition of a function in the text of its file."""
    code = function.__code__
    found = _functions(text).get((code.co_name, code.co_firstlineno))
    if found is None:
        raise SourceError(_changed(function))
    return found


def returned_paths(function: object, text: str, fields: Sequence[str] | None) -> dict[str, str]:
    """Return the paths of the files that a function returns, where its source states them.

    `fields` are those of the record that it returns; None for a single result.
    """
    try:
        definition = definition_of(t.cast("FunctionType", function), text)
    except (SourceError, AttributeError):  # nothing of Python's
        return {}
    values = _assigned_once(definition)
    found: dict[str, set[str | None]] = {name: set() for name in fields or (STDOUT,)}
    for node in _own_nodes(definition):
        if isinstance(node, ast.Return):
            for name, value in _results(node.value, fields, values).items():
                found.setdefault(name, set()).add(_stated_path(value, values))
    return {
        name: path for name, paths in found.items() if len(paths) == 1 for path in paths if path
    }


def _own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a function, without what is in functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            yield child
            yield from _own_nodes(child)


def _assigned_once(definition: ast.AST) -> dict[str, ast.expr]:
    """Return the values of the variables of a function or class that have one alone."""
    nodes = [*_own_nodes(definition)]
    count = Counter(one.arg for one in nodes if isinstance(one, ast.arg))
    count.update(
        one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)
    )
    return {
        target.id: one.value
        for one in nodes
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None
        for target in ([one.target] if isinstance(one, ast.AnnAssign) else one.targets)
        if isinstance(target, ast.Name) and count[target.id] == 1
    }


def _results(
    value: ast.expr | None, fields: Sequence[str] | None, values: Mapping[str, ast.expr]
) -> dict[str, ast.expr | None]:
    """Return what a `return` gives for each output."""
    if fields is None:
        return {} if isinstance(value, ast.Constant) and value.value is None else {STDOUT: value}
    if isinstance(value, ast.Name):
        value = values.get(value.id)
    if not isinstance(value, ast.Call):
        return dict.fromkeys(fields)
    given = {one.arg: one.value for one in value.keywords if one.arg}
    return {**dict.fromkeys(fields), **dict(zip(fields, value.args, strict=False)), **given}


def _stated_path(node: ast.expr | None, values: Mapping[str, ast.expr]) -> str | None:
    match node:
        case ast.Constant(value=str(path)):
            return path
        case ast.Name(id=name) if name in values:
            rest = {key: value for key, value in values.items() if key != name}
            return _stated_path(values[name], rest)
        case ast.BinOp(op=ast.Div(), right=last):
            return _stated_path(last, values)
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=[*_, last]):
            return _stated_path(last, values) if name in _PATHS else None
    return None


def node_path(function: FunctionType, text: str, edited: str) -> list[ast.AST]:
    """Return the nodes of an edited text from its module down to the definition of a function.

    The edited text has each statement on the line that it has in the text of the file.
    """
    code = function.__code__
    kind: type[ast.AST] = ast.Lambda
    if code.co_name == "<lambda>":
        places = set(code.co_positions())
        found = [
            (node.lineno, node.col_offset)
            for node in ast.walk(parsed(text))
            if isinstance(node, ast.Lambda)
            and node.lineno == code.co_firstlineno
            and _place(node.body) in places
        ]
        if len(found) != 1:
            raise SourceError("a lambda whose source is not clear; use def")
    else:
        node = definition_of(function, text)
        kind, found = type(node), [(node.lineno, node.col_offset)]

    nodes, parents = _tree(edited)
    path = [nodes[kind, *found[0]]]
    while path[0] in parents:
        path.insert(0, parents[path[0]])
    return path


@functools.lru_cache(maxsize=64)
def _tree(text: str) -> tuple[dict[tuple[type, int, int], ast.AST], dict[ast.AST, ast.AST]]:
    """Return the functions of a text by kind, line and column, and the node around each node."""
    nodes: dict[tuple[type, int, int], ast.AST] = {}
    parents: dict[ast.AST, ast.AST] = {}
    for node in ast.walk(parsed(text)):
        parents.update(dict.fromkeys(ast.iter_child_nodes(node), node))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            nodes[type(node), node.lineno, node.col_offset] = node
    return nodes, parents


@functools.lru_cache(maxsize=64)
def lines_of(text: str) -> list[str]:
    """Return the lines of a text, as Python counts them."""
    return text.split("\n")


def _place(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def _changed(function: FunctionType) -> str:
    return (
        f"{os.path.basename(function.__code__.co_filename)} does not say what runs: it was changed "
        "after its import (start the program again), or by what imported it (put its steps into a "
        "module that no import hook rewrites)"
    )


def unindented(text: str, node: ast.stmt, first: int) -> str:
    """Return the lines of a statement from line `first` on as if it stood at the margin.

    Texts of several lines stay as they are.
    """
    within = {
        number
        for one in ast.walk(node)
        if isinstance(one, ast.JoinedStr)
        or (isinstance(one, ast.Constant) and isinstance(one.value, str | bytes))
        for number in range(one.lineno + 1, (one.end_lineno or 0) + 1)
    }
    lines = lines_of(text)
    indent = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    margin = re.compile(f"{re.escape(indent)}|[ \t\f]*")
    taken = [
        line if number in within else margin.sub("", line, count=1)
        for number, line in enumerate(lines[first - 1 : node.end_lineno], first)
    ]
    return "\n".join(taken).rstrip(" \t\f") + "\n"


def first_line(node: ast.stmt) -> int:
    """Return the first line of a statement, that of its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])
