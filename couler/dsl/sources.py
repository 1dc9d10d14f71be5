"""The source of a function or class as it runs: what a file says now may be something else."""

from __future__ import annotations
import __future__

import ast
import dataclasses
import enum
import functools
import inspect
import linecache
import os
import re
import symtable
import sys
import typing as t
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType

from couler.dsl._context import rewritten
from couler.ir.workflow import STDOUT

_FUTURES = functools.reduce(
    int.__or__, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)
)
_ANNOTATIONS = __future__.annotations.compiler_flag
_COMPARED = (
    *("co_code", "co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable"),
    *("co_argcount", "co_posonlyargcount", "co_kwonlyargcount"),
)
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
def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise SourceError(f"its source cannot be read: {error}") from error


@functools.lru_cache(maxsize=64)
def _functions(text: str) -> dict[tuple[str, int], Function]:
    """Return the definitions of functions in a text, by name and first line."""
    return {
        (node.name, _first_line(node)): node
        for node in ast.walk(_parsed(text))
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


def lambda_source(function: FunctionType, text: str) -> str:
    """Return the lambda of a text that has a function's code, by the places of its parts."""
    code = function.__code__
    places = set(code.co_positions())
    found = [
        node
        for node in ast.walk(_parsed(text))
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and _place(node.body) in places
    ]
    if len(found) != 1:
        raise SourceError("a lambda whose source is not clear; use def")
    return ast.unparse(found[0])


def _place(node: ast.expr) -> tuple[int, int | None, int, int | None]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


def refuse_other_code(function: FunctionType, source: str, text: str, flags: int) -> None:
    """Refuse a source of a file's text that, compiled with flags, is not a function's code."""
    code = function.__code__
    if code.co_filename in rewritten:
        return
    flags |= code.co_flags & _FUTURES & ~_ANNOTATIONS
    tree = ast.parse(source)
    if not _has_defaults(
        function, next(one for one in ast.walk(tree) if isinstance(one, ast.arguments))
    ):
        raise SourceError(
            "the defaults of its arguments were changed after its definition; write them there"
        )
    if code.co_name != "<lambda>":  # classes in it have the number of their line
        ast.increment_lineno(tree, definition_of(function, text).lineno - 1)
    if code.co_freevars:  # of the function around it; the script has them at its top
        around = ast.parse(f"def around({', '.join(code.co_freevars)}): ...")
        t.cast(ast.FunctionDef, around.body[0]).body = tree.body
        tree = around
    tree.body += _imports(text)
    if any(_is_same(one, code) for one in _codes(compile(tree, "<step>", "exec", flags, True))):
        return
    # pytest writes the assertions of tests anew, so that their code is not that of their source.
    used = [name for one in _codes(code) for name in (*one.co_names, *one.co_varnames)]
    private = f"_{code.co_qualname.split('.')[-2:][0].lstrip('_')}__"  # as within a class
    if any(name.startswith(private) for name in used):
        raise SourceError("names that begin with __ mean others within a class; rename them")
    if not any(name.startswith("@py") for name in used):
        raise SourceError(_changed(function))


@functools.lru_cache(maxsize=64)
def _imports(text: str) -> list[ast.stmt]:
    """Return imports of what a module imports: calls of its attributes are compiled otherwise."""
    symbols = symtable.symtable(text, "<module>", "exec").get_symbols()
    return [ast.parse(f"import {one.get_name()}").body[0] for one in symbols if one.is_imported()]


def _changed(function: FunctionType) -> str:
    return (
        f"{os.path.basename(function.__code__.co_filename)} does not say what runs: it was changed "
        "after its import (start the program again), or by what imported it (put its steps into a "
        "module that no import hook rewrites)"
    )


def _is_same(first: CodeType, second: CodeType) -> bool:
    own, other = _constants(first), _constants(second)
    return (
        all(getattr(first, name) == getattr(second, name) for name in _COMPARED)
        and (first.co_flags ^ second.co_flags) & ~(inspect.CO_NESTED | _ANNOTATIONS) == 0
        and len(own) == len(other)
        and all(map(_is_same_constant, own, other))
    )


def _constants(code: CodeType) -> list[object]:
    """Return the constants of code, with its name in place of where it is defined."""
    return [code.co_name if one == code.co_qualname else one for one in code.co_consts]


def _is_same_constant(first: object, second: object) -> bool:
    if isinstance(first, CodeType) and isinstance(second, CodeType):
        return first.co_name == second.co_name and _is_same(first, second)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(_is_same_constant, first, second))
    if isinstance(first, set | frozenset) and isinstance(second, set | frozenset):
        return set(map(repr, first)) == set(map(repr, second))
    return type(first) is type(second) and repr(first) == repr(second)


def names_around(cls: type) -> Mapping[str, t.Any]:
    """Return the names of the module that a class is of; none if it is gone."""
    return getattr(sys.modules.get(cls.__module__), "__dict__", {})


def class_source(cls: type, texts: Mapping[str, str]) -> str:
    """Return the source of a class with its decorators, unindented.

    `texts` holds those of files, by their names, that were read when functions were defined.
    """
    names = names_around(cls)
    file = str(names.get("__file__"))
    own = texts.get(file) or read_source(file, names)
    cells = [name for name in linecache.cache if name[0] == "<" or "ipykernel_" in name]
    differences: dict[str, str | None] = {}
    for text in (own, *("".join(linecache.getlines(name)) for name in cells[::-1])):
        differences |= {
            unindented(text, node, _first_line(node)): _difference(cls, node, text)
            for node in _classes_named(cls.__qualname__, text)
        }
        found = [source for source, difference in differences.items() if difference is None]
        if len(found) > 1:
            raise SourceError(
                f"the class {cls.__name__} is defined several times, and which of them runs cannot "
                "be told; give each a name of its own"
            )
        if found:
            return found[0]
    if differences:
        raise SourceError(
            f"the class {cls.__name__} differs from its source in its "
            f"{', '.join(filter(None, differences.values()))}: it was changed after its definition "
            "(write that there), or its file was changed after its import (start the program again)"
        )
    raise SourceError(
        f"the source of the class {cls.__name__} cannot be found; write it in a file or a "
        "notebook's cell"
    )


def _classes_named(qualname: str, text: str) -> Iterator[ast.ClassDef]:
    """Yield the definitions of classes of a name, as `Outer.Config` or `f.<locals>.Config`."""

    def below(node: ast.AST, around: str) -> Iterator[ast.ClassDef]:
        for child in ast.iter_child_nodes(node):
            inner = around
            if isinstance(child, ast.ClassDef):
                inner = f"{around}{child.name}."
                if around + child.name == qualname:
                    yield child
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                inner = f"{around}{child.name}.<locals>."
            yield from below(child, inner)

    try:
        tree = _parsed(text)
    except SourceError:  # no Python, as a cell of another language
        return
    yield from below(tree, "")


def _difference(cls: type, node: ast.ClassDef, text: str) -> str | None:
    """Return the part of a class that a definition states otherwise; None if there is none."""
    members = dict(vars(cls))
    annotated = members.get("__annotations__", {}).keys()
    fields, inside = (
        {
            _mangled(one.target.id, node)
            for one in nodes
            if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
        }
        for nodes in (node.body, ast.walk(node))
    )
    if not fields <= annotated <= inside:
        return "fields"
    if "__dataclass_params__" in members and not node.decorator_list:
        return "decorators"
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT  # of a notebook's cell
    module = compile(text, "<module>", "exec", flags=flags, dont_inherit=True)
    made = [
        one for one in _codes(module) if node.lineno <= one.co_firstlineno <= (node.end_lineno or 0)
    ]
    values = _assigned_once(node)
    methods = {
        one.name: one
        for one in node.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef) and not one.decorator_list
    }
    for name, stated in {**values, **methods}.items():
        known = _known(cls, name, node)
        if name != "__new__" and known is not ... and not _is_stated(known, stated, made):
            return name
    for name in [one for one in members if one not in values]:
        method = inspect.unwrap(
            getattr(members[name], "fget", getattr(members[name], "func", members[name]))
        )
        if (
            isinstance(method, FunctionType)
            and method.__globals__ is names_around(cls)
            and method.__code__.co_filename != "<string>"  # made by a decorator
            and not any(_is_same(one, method.__code__) for one in made)
        ):
            return name
    return None


def _mangled(name: str, node: ast.ClassDef) -> str:
    """Return the name of what is given a name in the body of a class."""
    is_private = name.startswith("__") and not name.endswith("__")
    return f"_{node.name.lstrip('_')}{name}" if is_private else name


def _known(cls: type, name: str, node: ast.ClassDef) -> object:
    """Return the value or factory that a class was given for a name; ... if it is not known."""
    members, name = vars(cls), _mangled(name, node)
    if issubclass(cls, enum.Enum) and name in cls.__members__:
        is_own = members["_member_type_"] not in (object, int, str)
        return ... if is_own or "._value_" in ast.unparse(node) else cls.__members__[name].value
    known = members.get("_field_defaults", {}).get(name, members.get(name, ...))
    field = members.get("__dataclass_fields__", {}).get(name)
    if field is not None and (known is ... or inspect.ismemberdescriptor(known)):
        return (
            field.default if field.default_factory is dataclasses.MISSING else field.default_factory
        )
    named = [one for one in _own_nodes(node) if isinstance(one, ast.Name) and one.id == name]
    return ... if isinstance(known, list | dict | set) and len(named) > 1 else known


def _is_stated(value: object, node: ast.AST, made: Sequence[CodeType] = ()) -> bool:
    """Whether a value is that of a literal or function, which had these codes; others pass."""
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "field":
        given = {one.arg: one.value for one in node.keywords}
        node = given.get("default", given.get("default_factory", node))
    if isinstance(node, ast.Lambda | ast.FunctionDef | ast.AsyncFunctionDef):
        function = getattr(value, "__func__", value)
        return (
            isinstance(function, FunctionType)
            and any(_is_same(one, function.__code__) for one in made)
            and _has_defaults(function, node.args)
        )
    try:
        return _is_same_constant(ast.literal_eval(node), value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return True


def _has_defaults(function: FunctionType, arguments: ast.arguments) -> bool:
    """Whether a function's defaults are those of its source, where they are literals."""
    stated = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    return len(given) == len(stated) and all(map(_is_stated, given, stated))


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield all code within code, and itself."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


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
    lines = text.split("\n")
    indent = lines[node.lineno - 1].encode()[: node.col_offset].decode()
    margin = re.compile(f"{re.escape(indent)}|[ \t\f]*")
    taken = [
        line if number in within else margin.sub("", line, count=1)
        for number, line in enumerate(lines[first - 1 : node.end_lineno], first)
    ]
    return "\n".join(taken).rstrip(" \t\f") + "\n"


def _first_line(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])
