"""What statements do with names: which they bind, read, and change the value of."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import re
import typing as t
from collections.abc import Iterable, Iterator
from types import CodeType

from couler.dsl.sources import lines_of, parsed

Functions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definitions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BUILTINS = frozenset(dir(builtins)) | {
    *("__annotations__", "__file__", "__module__", "__name__", "__qualname__")
}


REGISTERS = "@"
"""In place of the name of a method that is used as a decorator."""


class Change(t.NamedTuple):
    """A statement that can change the value of a name in place."""

    statement: ast.stmt
    method: str | None
    """The method of it that is called for its result, where nothing else says that it changes."""


class Statements:
    """The statements of a module or a function: which bind a name, and which change its value."""

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self.statements = [*_run_on_import(statements)]
        self.bindings: dict[str, list[ast.stmt]] = {}
        for statement in self.statements:
            for name in dict.fromkeys(bound_names(statement)):
                self.bindings.setdefault(name, []).append(statement)
        self.stars = self.bindings.pop("*", [])
        self._effects: dict[str, frozenset[str]] = {}

    @functools.cached_property
    def changes(self) -> dict[str, list[Change]]:
        """The statements that can change the values of names in place, by the names."""
        found: dict[str, list[Change]] = {}
        for statement in self.statements:
            nodes = [*executed(statement)]
            changed = dict.fromkeys(_changed(nodes))
            called = [name for node in nodes for name in _called(node)]
            changed.update(dict.fromkeys((one, None) for name in called for one in self._of(name)))
            for name in (one for node in nodes for one in self._hooked(node)):
                changed[name, None] = None
            for name, method in changed:
                found.setdefault(name, []).append(Change(statement, method))
        return found

    def _of(self, name: str) -> frozenset[str]:
        """Return the global names whose values a function or class changes where it is called."""
        if name not in self._effects:
            seen, waiting = {name}, [name]
            changed: set[str] = set()
            for one in waiting:  # which grows
                direct, called = self._direct_effects(one)
                changed |= direct
                waiting += called - seen
                seen |= called
            self._effects[name] = frozenset(changed)
        return self._effects[name]

    def _direct_effects(self, name: str) -> tuple[set[str], set[str]]:
        """Return the global names that a definition changes, and the names that it calls."""
        changed: set[str] = set()
        called: set[str] = set()
        for one in self.bindings.get(name, ()):
            if isinstance(one, Definitions):
                nodes = [*_run_by_calls(one)]
                own = {arg.arg for arg in nodes if isinstance(arg, ast.arg)}
                changed |= {name for name, method in _changed(nodes[1:]) if method is None} - own
                changed |= {
                    each for node in nodes if isinstance(node, ast.Global) for each in node.names
                }
                called |= {each for node in nodes for each in _called(node)} - own
        return changed, called

    def _hooked(self, node: ast.AST) -> Iterator[str]:
        """Yield the classes of the file that do something where a class is derived from them."""
        waiting = [one for base in getattr(node, "bases", ()) for one in root(base)]
        for name in waiting:  # which grows
            for one in self.bindings.get(name, ()):
                if isinstance(one, ast.ClassDef):
                    inner = [each for base in one.bases for each in root(base)]
                    waiting += [each for each in inner if each not in waiting]
                    made = [each for statement in one.body for each in bound_names(statement)]
                    if one.keywords or "__init_subclass__" in made:
                        yield name


def _run_by_calls(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a definition that can run where it is called."""
    yield node
    for child in ast.iter_child_nodes(node):
        if getattr(child, "name", "") != "__init_subclass__":
            yield from _run_by_calls(child)


def _called(node: ast.AST) -> Iterator[str]:
    """Yield the names of functions and classes that a node calls."""
    called: list[ast.expr] = []
    match node:
        case ast.ClassDef():
            called = [*node.decorator_list, *node.bases, *(one.value for one in node.keywords)]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            called = node.decorator_list
        case ast.Call(function):
            called = [function]
    for one in called:
        yield from root(one)


def _changed(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str | None]]:
    """Yield the names whose values nodes can change, each with a method if it depends on that."""
    for node in nodes:
        match node:
            case (
                ast.Attribute(ctx=ast.Store() | ast.Del())
                | ast.Subscript(ctx=ast.Store() | ast.Del())
            ):
                yield from ((name, None) for name in root(node))
            case (
                ast.FunctionDef(decorator_list=given)
                | ast.AsyncFunctionDef(decorator_list=given)
                | ast.ClassDef(decorator_list=given)
            ):
                for one in given:
                    inner = one.func if isinstance(one, ast.Call) else one
                    if isinstance(inner, ast.Attribute):
                        yield from ((name, REGISTERS) for name in root(inner))
            case ast.Expr(ast.Call() as call):
                called = root(call.func)
                if isinstance(call.func, ast.Attribute):
                    yield from ((name, None) for name in called)
                if not BUILTINS.issuperset(called) or called in (["setattr"], ["delattr"]):
                    given = [*call.args, *(one.value for one in call.keywords)]
                    yield from ((one.id, None) for one in given if isinstance(one, ast.Name))
            case ast.Call(ast.Attribute() as function):
                yield from ((name, function.attr) for name in root(function))


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
        test = ast.unparse(one.test) if isinstance(one, ast.If) else ""
        is_main = test in ("__name__ == '__main__'", "'__main__' == __name__")
        if is_main or re.fullmatch(r"(\w+\.)?TYPE_CHECKING", test):
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


def root(node: ast.AST) -> list[str]:
    """Return the name that an expression, or what `vars` is called with, begins with, if any."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if isinstance(node, ast.Call):
            is_vars = isinstance(node.func, ast.Name) and node.func.id == "vars" and node.args
            node = node.args[0] if is_vars else node.func
        else:
            node = node.value
    return [node.id] if isinstance(node, ast.Name) else []


@functools.lru_cache(maxsize=4096)
def annotated(node: ast.AST | None) -> tuple[str, ...]:
    """Return the names in annotations that decorators and classes of dataclasses' kind look at."""
    found: list[str] = []
    for one in ast.walk(node) if node is not None else ():
        given: list[ast.expr | None] = []
        if isinstance(one, ast.ClassDef):
            given = [inner.annotation for inner in one.body if isinstance(inner, ast.AnnAssign)]
        elif isinstance(one, ast.FunctionDef) and one.decorator_list:
            arguments = [inner for inner in ast.walk(one.args) if isinstance(inner, ast.arg)]
            given = [one.returns, *(inner.annotation for inner in arguments)]
        for annotation in filter(None, given):
            found += re.findall(r"\w+", ast.unparse(annotation))
    return tuple(dict.fromkeys(found))


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
