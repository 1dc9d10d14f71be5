"""What statements do with names: which they bind, read, and change the value of."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import re
import typing as t
from collections.abc import Iterable, Iterator
from itertools import chain
from types import CodeType

from couler.dsl.sources import lines_of, parsed

Functions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definitions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BUILTINS = frozenset(dir(builtins)) | {
    *("__annotations__", "__file__", "__module__", "__name__", "__qualname__")
}


class Statements:
    """The statements of a module or a function: which bind a name, and which change its value."""

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self._all = [*_run_on_import(statements)]
        self.bindings: dict[str, list[ast.stmt]] = {}
        for statement in self._all:
            for name in dict.fromkeys(bound_names(statement)):
                self.bindings.setdefault(name, []).append(statement)
        self.stars = self.bindings.pop("*", [])

    @functools.cached_property
    def _changing(self) -> dict[str, list[ast.stmt]]:
        changing: dict[str, list[ast.stmt]] = {}
        for statement in self._all:
            for name in dict.fromkeys(self._changed(executed(statement), frozenset())):
                changing.setdefault(name, []).append(statement)
        return changing

    def changes(self, name: str, left_out: frozenset[str]) -> Iterator[ast.stmt]:
        """Yield the statements that change the value of a name and read none of others."""
        for one in self._changing.get(name, ()):
            read = {node.id for node in executed(one) if isinstance(node, ast.Name)}
            if left_out.isdisjoint(read):
                yield one

    def _changed(self, nodes: Iterable[ast.AST], known: frozenset[str]) -> Iterator[str]:
        """Yield the names whose values nodes change, also by the functions that they call."""
        for node in nodes:
            called: list[ast.expr] = []
            match node:
                case (
                    ast.Attribute(ctx=ast.Store() | ast.Del())
                    | ast.Subscript(ctx=ast.Store() | ast.Del())
                ):
                    yield from root(node)
                case ast.Expr(ast.Call(function, arguments)):
                    roots = [*root(function)]
                    if isinstance(function, ast.Attribute):
                        yield from roots
                    if not BUILTINS.issuperset(roots):
                        yield from (one.id for one in arguments if isinstance(one, ast.Name))
                case ast.ClassDef(bases=bases):
                    called = [*node.decorator_list, *bases]
                    roots = [one for base in bases for one in root(base)]
                    yield from filter(self._is_hooked, roots)
                case ast.FunctionDef():
                    called = node.decorator_list
                case ast.Call(function):
                    called = [function]
            for name in (one for expression in called for one in root(expression)):
                yield from self._effects(name, known) if name not in known else ()

    def _is_hooked(self, name: str) -> bool:
        """Return whether a class does something where another is derived from it."""
        return any(
            isinstance(one, ast.ClassDef)
            and (
                one.keywords
                or any(bound_names(inner) == ["__init_subclass__"] for inner in one.body)
            )
            for one in self.bindings.get(name, ())
        )

    def _effects(self, name: str, known: frozenset[str]) -> Iterator[str]:
        """Yield the global names whose values a function or a class of the file changes."""
        for one in self.bindings.get(name, ()):
            if isinstance(one, Definitions):
                nodes = [*ast.walk(one)]
                own = {arg.arg for arg in nodes if isinstance(arg, ast.arg)}
                changed = self._changed(nodes[1:], known | {name})
                declared = [node.names for node in nodes if isinstance(node, ast.Global)]
                yield from {*changed, *chain(*declared)} - own


@functools.lru_cache(maxsize=256)
def statements_of(text: str, line: int, column: int) -> Statements:
    """Return the scope of the module, at line 0, or of the function that begins somewhere."""
    tree = parsed(text)
    if not line:
        return Statements(tree.body)
    found = (one for one in ast.walk(tree) if isinstance(one, Functions))
    node = next(one for one in found if start(one) == (line, column))
    return Statements([] if isinstance(node, ast.Lambda) else node.body)


def _run_on_import(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield statements without those for type checkers and of the file as a program."""
    for one in statements:
        words = set(re.findall(r"\w+", ast.unparse(one.test))) if isinstance(one, ast.If) else set()
        if "TYPE_CHECKING" in words or {"__name__", "__main__"} <= words:
            yield from _run_on_import(t.cast("ast.If", one).orelse)
        else:
            yield one


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


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run where a statement runs: all but the bodies of functions."""
    yield node
    children = ast.iter_child_nodes(node)
    if isinstance(node, Functions):
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        children = iter([*getattr(node, "decorator_list", ()), *defaults])
    for child in children:
        yield from executed(child)


def root(node: ast.AST) -> Iterator[str]:
    """Yield the name that an expression begins with, if it does with one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def annotated(node: ast.AST | None) -> Iterator[str]:
    """Yield the names in annotations that decorators and classes of dataclasses' kind look at."""
    for one in ast.walk(node) if node is not None else ():
        given: list[ast.expr | None] = []
        if isinstance(one, ast.ClassDef):
            given = [inner.annotation for inner in one.body if isinstance(inner, ast.AnnAssign)]
        elif isinstance(one, ast.FunctionDef) and one.decorator_list:
            arguments = [inner for inner in ast.walk(one.args) if isinstance(inner, ast.arg)]
            given = [one.returns, *(inner.annotation for inner in arguments)]
        for annotation in filter(None, given):
            yield from re.findall(r"\w+", ast.unparse(annotation))


def has_future(tree: ast.Module) -> bool:
    """Return whether annotations of a module are texts."""
    return any(
        isinstance(one, ast.ImportFrom)
        and one.module == "__future__"
        and any(alias.name == "annotations" for alias in one.names)
        for one in tree.body
    )


def bindings(source: str) -> dict[str, ast.stmt]:
    """Return the names that a source binds, each with its last statement."""
    return {name: one for one in ast.parse(source).body for name in bound_names(one)}


def start(node: ast.AST) -> tuple[int, int]:
    """Return the line and column that a node begins at; 0 for a module."""
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def shares_lines(text: str, statement: ast.stmt) -> bool:
    """Return whether other statements are on the lines of one."""
    lines = lines_of(text)
    before = lines[statement.lineno - 1].encode()[: statement.col_offset]
    after = lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset :]
    return bool(before.strip()) or after.strip().startswith(b";")


@functools.lru_cache(maxsize=4096)
def names_of(source: str, flags: int) -> frozenset[str]:
    """Return the global names that a piece of source reads and does not define itself."""
    used = uses_of(source, flags)
    own = {name for name, way in used if way == "STORE_NAME"}
    return frozenset(name for name, _ in used if name not in own)


def uses_of(source: str, flags: int) -> set[tuple[str, str]]:
    """Return the global names that a source uses, each with the instruction."""
    code = t.cast("CodeType", compile(source, "<step>", "exec", flags=flags, dont_inherit=True))
    return _global_uses(code)


def _global_uses(code: CodeType) -> set[tuple[str, str]]:
    """Return the names that code reads and makes outside of functions, with the instructions.

    What the body of a class makes is no global, and what it reads of that neither.
    """
    used: set[tuple[str, str]] = set()
    made: set[str] = set()
    for instruction in dis.get_instructions(code):
        name, way = instruction.argval, instruction.opname
        if way == "STORE_NAME":
            made.add(name)
        is_name = way.endswith(("_GLOBAL", "_NAME", "FROM_DICT_OR_GLOBALS"))
        if is_name and not way.startswith("IMPORT") and (way == "STORE_NAME" or name not in made):
            used.add((name, way))
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            used |= {one for one in _global_uses(constant) if one[1] != "STORE_NAME"}
    return used
