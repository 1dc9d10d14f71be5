"""What Python sources need beside themselves: modules, files and variables."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import re
from collections import Counter


def absolute_name(name: str, package: str) -> str:
    """Return the full name of what is imported in a package; itself beyond the outermost one."""
    try:
        return importlib.util.resolve_name(name, package)
    except ImportError:
        return name


@functools.lru_cache(maxsize=256)
def imports_of(source: str | bytes) -> tuple[tuple[str, bool], ...]:
    """Return what a source imports, in functions too, that may be modules; none if it is no Python.

    `from ..a import b` has `..a` and `..a.b`. Of each is said whether the source needs it: what it
    imports within `try`, `if` or `with` (`suppress`) it may do without. `import_module("a")` and
    the like are imports, as are the names of `__all__`, which `from package import *` imports.
    """
    nodes = _nodes(source)
    optional = {
        part
        for one in nodes
        if isinstance(one, ast.Try | ast.If | ast.With)
        for part in ast.walk(one)
    }
    found: list[tuple[str, bool]] = []
    for node in nodes:
        match node:
            case ast.Import(names):
                found += [(one.name, node not in optional) for one in names]
            case ast.ImportFrom(module, names, level):
                base = "." * (level or 0) + (module or "")
                parts = (f"{base}{'.' if module else ''}{one.name}" for one in names)
                found += [(name, node not in optional) for name in (base, *parts)]
            case ast.Call(
                ast.Name(called) | ast.Attribute(_, called), [ast.Constant(str(name)), *_]
            ) if called in ("import_module", "__import__", "run_module"):
                is_needed = node not in optional and not name.startswith(".")
                found += [(name, is_needed), (f"{name}.__main__", False)]
            case ast.Assign([ast.Name("__all__")], names) | ast.AugAssign(
                ast.Name("__all__"), _, names
            ):
                texts = (one.value for one in ast.walk(names) if isinstance(one, ast.Constant))
                found += [(f".{text!s}", False) for text in texts]
    return tuple(found)


def reads_of(source: str) -> tuple[set[str], set[str]]:
    """Return the files and environment variables that a source reads by names written in it.

    A file that it names elsewhere as well, and a variable that it sets, are its own.
    """
    nodes = _nodes(source)
    texts = Counter(node.value for node in nodes if isinstance(node, ast.Constant))
    files: Counter[str] = Counter()
    variables: set[str] = set()
    own: set[str] = set()
    for node in nodes:
        match node:
            case ast.Subscript(
                ast.Name("environ") | ast.Attribute(_, "environ"), ast.Constant(str(name)), ways
            ) | ast.Call(
                ast.Attribute(ast.Name("environ") | ast.Attribute(_, "environ"), "get")
                | ast.Name("getenv")
                | ast.Attribute(_, "getenv"),
                [ast.Constant(str(name)), *ways],
            ):
                (own if isinstance(ways, ast.Store) else variables).add(name)
            case (  # Path("x").open("rb"), open("x", mode="rb"), open(Path("x"))
                ast.Call(
                    ast.Attribute(
                        ast.Call(_, [ast.Constant(str(file))]), "open" | "read_text" | "read_bytes"
                    ),
                    ways,
                )
                | ast.Call(
                    ast.Name("open")
                    | ast.Attribute(ast.Name("bz2" | "codecs" | "gzip" | "io" | "lzma"), "open"),
                    [ast.Constant(str(file)) | ast.Call(_, [ast.Constant(str(file))]), *ways],
                )
            ):
                files[file] += not any(
                    isinstance(mode, ast.Constant)
                    and re.fullmatch(r"[rbt]*[wax+]+[bt+]*", str(mode.value))
                    for mode in (*ways[:1], *(one.value for one in node.keywords))
                )
            case ast.Call(  # read_csv("x"), frames.read_parquet(Path("x"))
                ast.Name(called) | ast.Attribute(_, called),
                [ast.Constant(str(file)) | ast.Call(_, [ast.Constant(str(file))]), *_],
            ) if re.fullmatch(r"read_(?!text|bytes)\w+", called):
                files[file] += 1
    return (
        {file for file, count in files.items() if texts[file] == count},
        {one for one in variables - own if not one.startswith("COULER_")},
    )


def bound_names(node: ast.AST) -> list[str]:
    """Return the names that a statement binds in its scope; `*` for those of another module."""
    found: list[str] = []
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Lambda() | ast.comprehension():
            return []
        case ast.Import(names) | ast.ImportFrom(_, names):
            return [imported_name(alias) for alias in names]
        case ast.Name(name, ast.Store() | ast.Del()):
            found = [name]
        case ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)):
            found = [name]
        case ast.MatchMapping(rest=str(name)):
            found = [name]
    return found + [name for child in ast.iter_child_nodes(node) for name in bound_names(child)]


def imported_name(alias: ast.alias) -> str:
    """Return the name that an import binds."""
    return alias.asname or alias.name.partition(".")[0]


@functools.lru_cache(maxsize=256)
def docstring(source: str, function: str) -> str | None:
    """Return the first paragraph of the docstring of a function."""
    made = bindings(source).get(function)
    return first_paragraph(ast.get_docstring(made) if isinstance(made, ast.FunctionDef) else None)


def first_paragraph(text: str | None) -> str | None:
    """Return the first paragraph of a docstring; None if it says nothing."""
    return re.split(r"\n\s*\n", inspect.cleandoc(text or ""))[0] or None


def bindings(source: str) -> dict[str, ast.stmt]:
    """Return the names that a source binds, each with its last statement; none if no Python."""
    try:
        return {name: one for one in ast.parse(source).body for name in bound_names(one)}
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _nodes(source: str | bytes) -> list[ast.AST]:
    """Return all that a source is made of; nothing if it is no Python."""
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []
