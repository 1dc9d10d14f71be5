"""What Python sources need beside themselves: modules, the project's too, files and variables."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib.util
import os
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

_NEVER_OWN = sys.stdlib_module_names | {"", "couler"}


@functools.lru_cache(maxsize=256)
def imports_of(source: str | bytes) -> tuple[tuple[str, bool], ...]:
    """Return what a source imports, in functions too, that may be modules; none if it is no Python.

    `from ..a import b` has `..a` and `..a.b`. Of each is said whether the source needs it: what it
    imports within `try`, `if` or `with` (`suppress`) it may do without.
    """
    nodes = _nodes(source)
    blocks = (one for one in nodes if isinstance(one, ast.Try | ast.If | ast.With))
    optional = {part for one in blocks for part in ast.walk(one)}
    found: list[tuple[str, bool]] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [(one.name, node not in optional) for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            parts = (f"{base}{'.' if node.module else ''}{one.name}" for one in node.names)
            found += [(name, node not in optional) for name in (base, *parts)]
    return tuple(found)


def own_modules(source: str) -> dict[str, Path]:
    """Return the files of modules that are not installed: what a source imports, and these import.

    They are the project's own, by their full names, also where it is installed as editable.
    """
    found: dict[str, Path] = {}
    folders = [*_step_folders(), *sys.path]
    waiting = [*_resolved(source, "")]
    for name in waiting:  # which grows
        spec = None if name.partition(".")[0] in _NEVER_OWN else _find(name, folders)
        file = Path("" if spec is None else spec.origin or "")
        if spec is not None and name not in found and file.is_file() and not _is_installed(file):
            found[name] = file
            waiting += [*_resolved(file.read_bytes(), spec.parent or ""), name.rpartition(".")[0]]
    return found


def missing_modules(source: str, own: Collection[str]) -> list[str]:
    """Return what a source needs of the project's own modules and no step finds, as named there."""
    needed = {name for name, is_needed in imports_of(source) if is_needed}
    packages = {name for name in needed if name.startswith(".") and name.strip(".")}
    relative = packages - {name for name in packages if name.rpartition(".")[0] in packages}
    folders = _step_folders() if own else []
    return sorted(relative.union(one for one in needed & {*own} if not _find(one, folders)))


def _resolved(source: str | bytes, package: str) -> Iterator[str]:
    """Yield the full names of what a source of a package imports."""
    for name, _ in imports_of(source):
        with contextlib.suppress(ImportError):  # beyond the outermost package
            yield importlib.util.resolve_name(name, package)


def _find(name: str, folders: Sequence[str]) -> ModuleSpec | None:
    """Return where a module is, as an import in a new process finds it; nothing is imported."""
    package = name.rpartition(".")[0]
    if package:
        around = _find(package, folders)
        folders = [*(getattr(around, "submodule_search_locations", None) or ())]
    finders = [one.find_spec for one in sys.meta_path if hasattr(one, "find_spec")]
    return next(filter(None, (find(name, folders) for find in finders)), None)


def _is_installed(file: Path) -> bool:
    return not {"site-packages", "dist-packages"}.isdisjoint(file.parts)


def _step_folders() -> list[str]:
    """Return where a process of this machine finds modules that are not the standard library's."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    installed = [one for one in sys.path if _is_installed(Path(one))]
    linked = [
        os.path.join(folder, line.strip())
        for folder in installed
        for file in Path(folder).glob("*.pth")
        for line in file.read_text(errors="replace").splitlines()
    ]
    return [*filter(os.path.isabs, given), *installed, *linked]


def reads_of(source: str) -> tuple[set[str], set[str]]:
    """Return the files and environment variables that a source reads by names written in it.

    A file that it names elsewhere as well, and a variable that it sets, are its own.
    """
    nodes = _nodes(source)
    named = Counter(node.value for node in nodes if isinstance(node, ast.Constant))
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
                modes = [*ways[:1], *(one.value for one in node.keywords if one.arg == "mode")]
                files[file] += not any(
                    isinstance(one, ast.Constant)
                    and re.fullmatch(r"[rbt]*[wax+]+[bt+]*", str(one.value))
                    for one in modes
                )
            case ast.Call(  # read_csv("x"), frames.read_parquet(Path("x"))
                ast.Name(called) | ast.Attribute(_, called),
                [ast.Constant(str(file)) | ast.Call(_, [ast.Constant(str(file))]), *_],
            ) if re.fullmatch(r"read_(?!text|bytes)\w+", called):
                files[file] += 1
    return (
        {file for file, count in files.items() if named[file] == count},
        {one for one in variables - own if not one.startswith("COULER_")},
    )


def _nodes(source: str | bytes) -> list[ast.AST]:
    """Return all that a source is made of; nothing if it is no Python."""
    try:
        return list(ast.walk(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError):
        return []
