"""The text of a file without what is of Couler in it, with all else on the lines that it has."""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import couler
from couler.dsl.progress import REPORT
from couler.dsl.sources import SourceError, first_line, parsed
from couler.dsl.statements import (
    Definitions,
    base_name,
    executed,
    has_future,
    start,
)
from couler.ir.imports import absolute_name, bound_names, imported_name

_FILE = 'File = Directory = type("File", (str,), {"path": property(str)})'
"""What modules of steps have in place of Couler's classes, on one line."""
_FILES = frozenset(("File", "Directory"))
_REPORTERS = frozenset(("report_progress", "*"))
_WORD = re.compile(r"\w+")
_FINDERS = re.compile(
    "attrgetter|dir|eval|exec|getmembers|globals|import_module|locals|methodcaller|modules"
    "|resolve_name|run_module|run_path|vars|__(dict|getattribute|import|subclasses)__"
)
"""What can find functions otherwise than by their names."""


@functools.lru_cache(maxsize=64)
def without_couler(text: str, names: frozenset[str], package: str = "") -> str:
    """Return a text without decorators of Couler, and with absolute imports of a package.

    `names` are those of what is Couler's; `couler.File` becomes `File`, and
    `couler.report_progress` a function that needs nothing of Couler.
    """
    lines = text.split("\n")
    edits: list[tuple[ast.expr | ast.stmt, str]] = []
    for node in ast.walk(parsed(text)):
        match node:
            case ast.FunctionDef(decorator_list=given) | ast.ClassDef(decorator_list=given):
                for one in given:
                    if not names.isdisjoint(base_name(one)):
                        _clear(lines, one)
            case ast.Attribute(ast.Name(name), "File" | "Directory" as attribute) if name in names:
                edits.append((node, attribute))
            case ast.Attribute(ast.Name(name), "report_progress") if name in names:
                edits.append((node, f"({REPORT})"))
            case ast.ImportFrom(module, aliases, int(level)) if level and package:
                full = absolute_name("." * level + (module or ""), package)
                edits.append((node, ast.unparse(ast.ImportFrom(full, aliases, 0))))
    for node, new in sorted(edits, key=lambda edit: start(edit[0]), reverse=True):
        last = (node.end_lineno or node.lineno) - 1
        before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset :].decode()
        if before or after or lines[node.lineno - 1]:
            count = last - node.lineno + 1
            lines[node.lineno - 1 : last + 1] = [before + new + after, *[""] * count]
    return "\n".join(lines)


@functools.lru_cache(maxsize=64)
def strip_couler(text: str) -> str:
    """Return the text of a module as steps import it: without what makes steps and workflows."""
    try:
        body = parsed(text).body if "couler" in text else []
    except SourceError:
        return text
    is_lazy = has_future(ast.Module(body, []))
    names: set[str] = set()
    files: set[str] = set()
    reporters: set[str] = set()
    left_out = []
    for one in body:
        made = {*bound_names(one)}
        if any(_of_couler(one)) or not names.isdisjoint(_names_read(one, is_lazy=is_lazy)):
            left_out.append(one)
            files |= made & _FILES
            reporters |= (own := _reporters(one))
            names |= made - _FILES - own - {imported_name(alias) for alias in _others(one)} - {"*"}
            names |= {*couler.__all__} - _FILES - own if "*" in made else set()
        else:
            names -= made
    if not left_out:
        return text
    lines = without_couler(text, frozenset(names)).split("\n")
    for one in left_out:
        _clear(lines, one)
        others = _others(one)
        if others:
            lines[one.lineno - 1] = ast.unparse(ast.Import(others))
    if files or re.search(rf"\b({'|'.join(names)})\.(File|Directory)\b", text):
        first = left_out[0].lineno - 1
        lines[first] = "; ".join(filter(None, (_FILE, lines[first])))
    if reporters and "report_progress" in text:
        first = left_out[0].lineno - 1
        reports = " = ".join((*sorted(reporters), REPORT))
        lines[first] = "; ".join(filter(None, (reports, lines[first])))
    return "\n".join(lines)


def drop_unused_steps(
    files: Mapping[str, str], sources: Iterable[str], data: Iterable[str] = ()
) -> dict[str, str]:
    """Return the texts of modules as steps import them, without steps that nothing there names.

    Their scripts have these functions themselves. `sources` are the scripts that import modules,
    `data` the other files beside these.
    """
    plain = {path: strip_couler(text) for path, text in files.items()}
    try:
        trees = [parsed(text) for text in (*sources, *plain.values())]
    except SourceError:
        return plain
    if any(map(_finds_names, trees)):
        return plain
    named = Counter(name for tree in trees for name in (*_names(tree), *_words(tree)))
    named.update(word for text in data for word in _WORD.findall(text))
    for path, text in plain.items():
        lines = text.split("\n")
        unused = [
            one
            for one in _steps(files[path], text)
            if named[one.name] == [*_names(one), *_words(one)].count(one.name)
        ]
        for one in unused:
            _clear(lines, one)
        plain[path] = "\n".join(lines).rstrip("\n") + "\n" if unused else text
    return plain


def _steps(whole: str, plain: str) -> list[ast.FunctionDef]:
    """Return the functions that have no decorators without those of Couler."""
    decorated = {one.lineno for one in parsed(whole).body if getattr(one, "decorator_list", ())}
    return [
        one
        for one in parsed(plain).body
        if isinstance(one, ast.FunctionDef) and one.lineno in decorated and not one.decorator_list
    ]


def _names(node: ast.AST) -> Iterator[str]:
    """Yield the names in a tree, but for those of definitions."""
    for one in ast.walk(node):
        match one:
            case ast.Name(name) | ast.Attribute(attr=name) | ast.alias(name):
                yield name


def _words(node: ast.AST) -> Iterator[str]:
    """Yield the words of the texts in a tree, but for docstrings."""
    docstrings = {one.value for one in ast.walk(node) if isinstance(one, ast.Expr)}
    for one in ast.walk(node):
        match one:
            case ast.Constant(str(text)) if one not in docstrings:
                yield from _WORD.findall(text)


def _finds_names(tree: ast.Module) -> bool:
    """Return whether a module may find functions otherwise than by their names."""
    found = Counter(_names(tree))
    for one in ast.walk(tree):
        match one:
            case ast.Call(ast.Name("getattr"), [_, ast.Constant(), *_]):
                found["getattr"] -= 1
    return found["getattr"] > 0 or any(map(_FINDERS.fullmatch, found))


def _others(node: ast.stmt) -> list[ast.alias]:
    """Return what else the import of Couler imports."""
    names = node.names if isinstance(node, ast.Import) else []
    return [one for one in names if one.name.partition(".")[0] != "couler"]


def _reporters(node: ast.stmt) -> set[str]:
    """Return the names under which a statement imports `report_progress`."""
    names = node.names if isinstance(node, ast.ImportFrom) else []
    return {one.asname or "report_progress" for one in names if one.name in _REPORTERS}


def _of_couler(node: ast.stmt) -> Iterator[bool]:
    """Yield whether a statement imports Couler, in itself or in what it tries."""
    for one in () if isinstance(node, Definitions | ast.Assign | ast.Expr) else executed(node):
        if isinstance(one, ast.Import):
            yield any(alias.name.partition(".")[0] == "couler" for alias in one.names)
        elif isinstance(one, ast.ImportFrom):
            yield not one.level and str(one.module).partition(".")[0] == "couler"


def _names_read(node: ast.stmt, *, is_lazy: bool) -> set[str]:
    """Return the names that a statement reads where it runs, but in decorators and for files.

    `is_lazy`: annotations of functions are texts.
    """
    found = set()
    waiting: list[ast.AST] = [node]
    for one in waiting:  # which grows
        left_out: list[ast.AST | None] = [*getattr(one, "decorator_list", ())]
        match one:
            case ast.Name(name, ast.Load()):
                found.add(name)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                left_out += [*one.body, one.returns if is_lazy else None]
            case ast.Lambda():
                left_out.append(one.body)
            case ast.arg():
                left_out.append(one.annotation if is_lazy else None)
            case ast.Attribute(value, "File" | "Directory"):
                left_out.append(value)
        waiting += [each for each in ast.iter_child_nodes(one) if each not in left_out]
    return found


def _clear(lines: list[str], node: ast.expr | ast.stmt) -> None:
    first = first_line(node) if isinstance(node, ast.stmt) else node.lineno
    count = (node.end_lineno or node.lineno) - first + 1
    lines[first - 1 : first - 1 + count] = [""] * count
