"""What statements do with names: which they bind, read, and change the value of."""

from __future__ import annotations

import ast
import builtins
import dis
import functools
import re
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType

from couler.dsl.sources import lines_of, parsed
from couler.ir.imports import bound_names, imported_name

Functions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definitions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
BUILTINS = frozenset(dir(builtins)) | {
    *("__annotations__", "__file__", "__module__", "__name__", "__qualname__")
}


DECORATOR = "@"
"""In place of the name of a method that is used as a decorator."""
BASE = "<"
"""In place of the name of a method of a class that another is derived from."""
ALIAS = "="
"""In place of the name of a method, where another name of the value, or of its part, is used."""
_ARGUMENTS = "*"
"""In place of a name: the arguments of the call."""

Effect: t.TypeAlias = tuple[str, str | None]
"""A name whose value can be changed in place, and the method on which that depends: `.append` where
it is passed on, `append` where it is called for its result, None if nothing else says so. `@name`
and `<name` are of what is imported from one package with a decorator or a base of that name."""


class Change(t.NamedTuple):
    """A statement that can change the value of a name in place."""

    statement: ast.stmt
    method: str | None


class Statements:
    """The statements of a module or a function: which bind a name, and which change its value."""

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self.statements = [*_run_on_import(statements)]
        self.bindings: dict[str, list[ast.stmt]] = {}
        for statement in self.statements:
            for name in dict.fromkeys(bound_names(statement)):
                self.bindings.setdefault(name, []).append(statement)
        self.stars = self.bindings.pop("*", [])
        self._effects: dict[str, frozenset[Effect]] = {}

    @functools.cached_property
    def changes(self) -> dict[str, list[Change]]:
        """The statements that can change the values of names in place, by the names."""
        found: dict[str, list[Change]] = {}
        whole = [[*executed(statement)] for statement in self.statements]
        same = _aliases(node for nodes in whole for node in nodes)
        siblings = self._siblings()
        for statement, nodes in zip(self.statements, whole, strict=True):
            changed = [
                *self._changed(nodes),
                *(one for node in nodes for one in self._by_calls(node)),
            ]
            changed += [
                (other, method and method + name)
                for name, method in changed
                if method in (None, DECORATOR, BASE)
                for other in siblings.get(name, ())
            ]
            for name, method in _with_aliases(changed, same):
                found.setdefault(name, []).append(Change(statement, method))
        return found

    def _siblings(self) -> dict[str, list[str]]:
        """Return the names that are imported from one package: matplotlib.use is for pyplot too."""
        packages: dict[str, list[str]] = {}
        found: dict[str, list[str]] = {}
        for node in self.statements:
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                package = f"{getattr(node, 'module', alias.name)}.".partition(".")[0]
                names = packages.setdefault(package, [])
                names.append(imported_name(alias))
                found[names[-1]] = names
        return found

    @functools.cached_property
    def _asks_subclasses(self) -> bool:
        nodes = (node for one in self.statements for node in ast.walk(one))
        return any(getattr(node, "attr", "") == "__subclasses__" for node in nodes)

    def _by_calls(self, node: ast.AST) -> Iterator[Effect]:
        """Yield what the functions and classes that a node calls change."""
        for effect in (one for name in names_called(node) for one in self._of(name)):
            if effect[0] != _ARGUMENTS:
                yield effect
            elif isinstance(node, ast.Call):
                yield from ((one, effect[1] or ALIAS) for one in _given(node))
        yield from self._hooked(node)

    def _of(self, name: str) -> frozenset[Effect]:
        """Return what of the global names a function, class or variable changes where called."""
        if name not in self._effects:
            seen, waiting = {name}, [name]
            changed: set[Effect] = set()
            for one in waiting:  # which grows
                direct, called = self._direct_effects(one)
                changed |= direct
                waiting += called - seen
                seen |= called
            self._effects[name] = frozenset(changed)
        return self._effects[name]

    def _direct_effects(self, name: str) -> tuple[set[Effect], set[str]]:
        """Return what a definition or the value of a variable changes, and the names it calls."""
        changed: set[Effect] = set()
        called: set[str] = set()
        for one in self.bindings.get(name, ()):
            if isinstance(one, Definitions):
                nodes = [*_run_by_calls(one)]
                given = {arg.arg for arg in nodes if isinstance(arg, ast.arg)}
                shared = {
                    each for one in nodes if isinstance(one, ast.Global) for each in one.names
                }
                own = given.union(
                    each.id
                    for each in nodes
                    if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
                )
                changed |= {(each, None) for each in shared}
                for each, method in _with_aliases(self._changed(nodes[1:]), _aliases(nodes)):
                    if each in given - {"self", "cls"}:
                        changed.add((_ARGUMENTS, method))
                    elif each not in own - shared:
                        changed.add((each, method))
                called |= {each for node in nodes for each in names_called(node)} - own
            elif isinstance(one, ast.Assign):  # of a method, or what a call gives
                nodes = [*executed(one.value)]
                changed |= {
                    (each, f".{node.attr}")
                    for node in nodes
                    if isinstance(node, ast.Attribute)
                    for each in base_name(node)
                }
                called |= {node.id for node in nodes if isinstance(node, ast.Name)}
        return changed, called

    def _hooked(self, node: ast.AST) -> Iterator[Effect]:
        """Yield what classes of the file change where a class is derived from them."""
        if not isinstance(node, ast.ClassDef):
            return
        waiting = [node]
        for cls in waiting:  # which grows
            metaclasses = [one for keyword in cls.keywords for one in base_name(keyword.value)]
            yield from ((name, None) for name in metaclasses)
            hooks = [one for one in cls.body if "__init_subclass__" in bound_names(one)]
            if cls is not node and (metaclasses or hooks or self._asks_subclasses):
                yield cls.name, None
            if cls is not node:
                yield from self._changed(each for one in hooks for each in ast.walk(one))
            for name in (one for base in cls.bases for one in base_name(base)):
                bound = self.bindings.get(name, ())
                waiting += [
                    one for one in bound if isinstance(one, ast.ClassDef) and one not in waiting
                ]

    def _changed(self, nodes: Iterable[ast.AST]) -> Iterator[Effect]:
        """Yield what nodes can change by themselves."""
        for node in nodes:
            match node:
                case (
                    ast.Attribute(ctx=ast.Store() | ast.Del())
                    | ast.Subscript(ctx=ast.Store() | ast.Del())
                ):
                    yield from ((name, None) for name in base_name(node))
                case ast.AugAssign(ast.Name(name)):
                    yield name, ALIAS
                case (
                    ast.FunctionDef(decorator_list=given)
                    | ast.AsyncFunctionDef(decorator_list=given)
                    | ast.ClassDef(decorator_list=given)
                ):
                    names = [name for one in given for name in base_name(one)]
                    yield from ((name, DECORATOR) for name in names)
                    bases = [name for one in getattr(node, "bases", ()) for name in base_name(one)]
                    yield from ((name, BASE) for name in bases if self._is_imported(name))
                case ast.Call(ast.Attribute(_, way)) if way in _QUIET:
                    continue
                case ast.Expr(ast.Call() as call) if getattr(call.func, "attr", "") not in _QUIET:
                    called = base_name(call.func)
                    is_own = any(isinstance(one, Definitions) for one in self._bound(called))
                    if isinstance(call.func, ast.Attribute) or any(map(self._is_imported, called)):
                        yield from ((name, None) for name in called)
                    is_builtin = BUILTINS.issuperset(called) and called not in _SETTERS
                    if isinstance(call.func, ast.Attribute) or not (is_own or is_builtin):
                        yield from ((name, None) for name in _given(call))
                case ast.Call(ast.Attribute() | ast.Name() as function):
                    if isinstance(function, ast.Attribute):
                        yield from ((name, function.attr) for name in base_name(function))
                    if ast.unparse(function).rpartition(".")[2] in _ADVANCING:
                        yield from ((name, ALIAS) for name in _given(node))
                    for one in node.args:
                        if isinstance(one, ast.Attribute):
                            yield from ((name, f".{one.attr}") for name in base_name(one))

    def _bound(self, names: Iterable[str]) -> list[ast.stmt]:
        return [one for name in names for one in self.bindings.get(name, ())]

    def _is_imported(self, name: str) -> bool:
        return any(isinstance(one, ast.Import | ast.ImportFrom) for one in self._bound([name]))


def _run_by_calls(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a definition that can run where it is called."""
    yield node
    for child in ast.iter_child_nodes(node):
        if getattr(child, "name", "") != "__init_subclass__":
            yield from _run_by_calls(child)


def names_called(node: ast.AST) -> Iterator[str]:
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
        yield from base_name(one)


_SETTERS = (["setattr"], ["delattr"])
_QUIET = frozenset(
    [
        "debug",
        "info",
        "warning",
        "error",
        "exception",
        "critical",
        "log",
        "print",
        "show",
        "savefig",
        "cache_info",
    ]
)
"""Methods that tell or draw, and change nothing."""
_ADVANCING = frozenset(("next", "heappop", "heappushpop", "heapreplace"))
"""Functions, not of the file, that are called for a result and change their argument."""


def _given(call: ast.Call) -> list[str]:
    """Return the names that are arguments of a call."""
    given = [*call.args, *(one.value for one in call.keywords)]
    return [one.id for one in given if isinstance(one, ast.Name)]


def _aliases(nodes: Iterable[ast.AST]) -> dict[str, set[str]]:
    """Return the names whose values, or parts of them, are also the values of others, by these."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets, value):
                given = _outside_calls(value)
                if len(targets) > 1:
                    given += [name for one in targets for name in bound_names(one)]
            case ast.AnnAssign(target, _, ast.expr() as value) | ast.NamedExpr(target, value):
                targets, given = [target], _outside_calls(value)
            case ast.For(target, value) | ast.comprehension(target, value):
                targets = [target]
                given = [one.id for one in ast.walk(value) if isinstance(one, ast.Name)]
            case ast.withitem(value, ast.expr() as target):
                targets, given = [target], _outside_calls(value)
            case _:
                continue
        for name in (each for one in targets for each in bound_names(one)):
            found.setdefault(name, set()).update(given)
    return found


def _outside_calls(node: ast.AST) -> list[str]:
    """Return the names in an expression, but those of calls."""
    if isinstance(node, ast.Call):
        is_part = getattr(node.func, "attr", "") in ("get", "setdefault")
        return base_name(node) if is_part else []
    own = [node.id] if isinstance(node, ast.Name) else []
    return own + [name for one in ast.iter_child_nodes(node) for name in _outside_calls(one)]


def _with_aliases(effects: Iterable[Effect], same: Mapping[str, set[str]]) -> list[Effect]:
    """Return effects, and those on the other names of the values."""
    found = [*dict.fromkeys(effects)]
    seen = set(found)
    for name, method in found:  # which grows
        way = (method or ALIAS).lstrip(".")
        others = [(one, way) for one in sorted(same.get(name, ())) if one != name]
        found += [one for one in others if one not in seen]
        seen.update(others)
    return found


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


def executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run where a statement runs: all but the bodies of functions."""
    yield node
    children = ast.iter_child_nodes(node)
    if isinstance(node, Functions):
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        children = iter([*getattr(node, "decorator_list", ()), *defaults])
    for child in children:
        yield from executed(child)


def base_name(node: ast.AST) -> list[str]:
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
