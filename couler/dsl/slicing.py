"""The part of a file that a function needs: the statements that define what it uses."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import math
import re
import sys
import typing as t
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import CellType, FunctionType, ModuleType

from couler.dsl.plain import without_couler
from couler.dsl.progress import REPORT, report_progress
from couler.dsl.sources import (
    ANNOTATIONS,
    first_line,
    node_path,
    parsed,
    unindented,
)
from couler.dsl.statements import (
    BASE,
    BUILTINS,
    DECORATOR,
    Change,
    Definitions,
    Functions,
    annotated,
    executed,
    has_future,
    names_of,
    shares_lines,
    start,
    statements_of,
    uses_of,
)
from couler.dsl.types import Directory, File
from couler.ir.imports import bound_names, imported_name, reads_of

_MISSING = object()
Place: t.TypeAlias = tuple[int, int, int, int]
"""Where a statement goes: its scope, the module being 0; its line and column; which of the names
of an import it is."""
_FIRST: Place = (-1, 0, 0, 0)


class ShippingError(Exception):
    """A function cannot be run elsewhere; carries the code of the reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def is_of_couler(value: object) -> bool:
    """Return whether a value is one that exists only where workflows are built."""
    if value is File or value is Directory:
        return False
    if type(value) is functools.partial:
        return is_of_couler(value.func)
    # By type(), as values can say anything of themselves.
    is_module = issubclass(type(value), ModuleType)
    has_own = issubclass(type(value), FunctionType | type)
    owner: t.Any = value if is_module or has_own else type(value)
    name = owner.__name__ if is_module else owner.__module__
    return str(name).partition(".")[0] == "couler"


class Slice:
    """The statements of a file that define some names, and all that these use in turn.

    Parameters
    ----------
    namespace
        The names of the module.
    text
        The text of its file, as it was when the function was defined.
    function
        The function that is shipped.
    local_names
        The variables of the function that it was defined in.
    """

    def __init__(
        self,
        namespace: Mapping[str, t.Any],
        text: str,
        function: FunctionType,
        local_names: Mapping[str, t.Any] | None = None,
    ) -> None:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        captured = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        self._globals = namespace
        self.values: dict[str, t.Any] = {**namespace, **(local_names or {}), **captured}
        self._of_couler = frozenset(name for name, one in self.values.items() if is_of_couler(one))
        self._building = _that_use(self._of_couler, self.values)
        package = str(namespace.get("__package__") or "")
        self._text = without_couler(text, self._building, package)
        tree = parsed(self._text)
        around = node_path(function, text, self._text)
        self._node = around.pop()
        self._around, self._function = around, function
        self._is_method = any(isinstance(one, ast.ClassDef) for one in around)
        scopes = [one for one in around if isinstance(one, ast.Module | Functions)]
        self._scopes = [statements_of(self._text, *start(one)) for one in scopes]
        self.flags = ANNOTATIONS if has_future(tree) else 0
        """The flag of the compiler by which annotations are texts, or 0."""
        self._taken: dict[Place, str] = {}
        self._firsts: dict[Place, int] = {}
        self.lines: dict[int, int] = {}
        """Lines of the file by those of the text that they became: of each statement the first."""
        self._problems: dict[str, tuple[str, str]] = {}
        self._seen: dict[str, int] = {}
        self._waiting: list[tuple[str, int]] = []
        self._unbound: list[str] = []
        self._has_unread = False

    def text(self) -> str:
        """Return the statements, in the order of the file.

        Raises
        ------
        ShippingError
            Names have no definition that can travel: all of them are named.
        """
        self._refuse_unbound()
        problems = [*self._problems.values()]
        if problems:
            messages = "; ".join(message for _, message in problems)
            raise ShippingError(problems[0][0], f"it uses {messages}")
        whole = ""
        was_block, moved = False, None
        for place in sorted(self._taken):
            text = self._taken[place]
            is_block = re.match(r"@|(def|class|if|try|for|while|with|match)\b", text) is not None
            whole += "\n\n" if whole and (is_block or was_block) else ""
            line = whole.count("\n")
            if place in self._firsts and self._firsts[place] - line != moved:
                self.lines[line] = self._firsts[place]
                moved = self._firsts[place] - line
            whole += text
            was_block = is_block
        return whole

    def take_function(self) -> str:
        """Take the function itself, and return its name."""
        node = self._node
        name = "function" if isinstance(node, ast.Lambda) else t.cast("ast.FunctionDef", node).name
        self._seen[name] = len(self._scopes) - 1
        if isinstance(node, ast.Lambda):
            text = f"{name} = {ast.unparse(node)}\n"
        else:
            statement = t.cast("ast.FunctionDef", node)
            text = self._function_text(statement)
            if self._is_method and any(map(_is_private, ast.walk(statement))):
                reason = "which means another name within a class; rename it"
                self._refuse("a name that begins with __", "CLR110", reason)
        number = len(self._scopes) - 1
        self._put((number, *start(node), 0), text, node)
        for change in self._scopes[number].changes.get(name, ()):
            if isinstance(change.statement, ast.Assign | ast.AugAssign | ast.Delete):
                self._take_changes(number, name, [change], self._building - {name})
        self._take_waiting()
        return name

    def _function_text(self, node: ast.FunctionDef) -> str:
        """Return the text of the function, in which defaults have the values that they got."""
        text = unindented(self._text, node, first_line(node))
        loops = [one for one in self._around if isinstance(one, ast.For)]
        targets = {name for one in loops for name in bound_names(one.target)}
        for decorator in node.decorator_list:
            for name in sorted(names_of(ast.unparse(decorator), 0) & targets):
                reason = "which is of a loop and read by a decorator; write the step outside of it"
                self._refuse(name, "CLR123", reason)
        tree = ast.parse(text)
        arguments = t.cast("ast.FunctionDef", tree.body[0]).args
        function = self._function
        variables = targets.union(*(one.bindings for one in self._scopes[1:]))
        given = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        read = {name for one in given for name in names_of(ast.unparse(one), 0)}
        if read.isdisjoint(variables):
            return text
        named = function.__kwdefaults__ or {}
        values = [*(function.__defaults__ or ()), *named.values()]
        for value in values:
            if not _is_literal(value):
                kind = type(value).__name__
                self._refuse("a default", "CLR123", f"which is of the type {kind}; make it None")
                return text
        literals = [ast.parse(repr(value), mode="eval").body for value in values]
        arguments.defaults = literals[: len(arguments.defaults)]
        by_name = dict(zip(named, literals[len(arguments.defaults) :], strict=True))
        arguments.kw_defaults = [by_name.get(one.arg) for one in arguments.kwonlyargs]
        return ast.unparse(tree) + "\n"

    @property
    def is_decorated(self) -> bool:
        """Whether the function has decorators besides those of Couler."""
        return bool(getattr(self._node, "decorator_list", ()))

    def take(self, names: Iterable[str]) -> None:
        """Take what defines some names, as the function sees them."""
        self._waiting += [(name, len(self._scopes) - 1) for name in names]
        self._take_waiting()

    def _take_waiting(self) -> None:
        while self._waiting:
            name, scope = self._waiting.pop()
            visible = self._scopes[: scope + 1]
            found = max(
                (number for number, one in enumerate(visible) if name in one.bindings), default=0
            )
            if name not in self._seen:
                self._seen[name] = found
                self._take(name, found)
            elif self._seen[name] != found:
                reason = "one thing in the file and another in a function; rename one of them"
                self._refuse(name, "CLR125", f"which names {reason}")

    def take_line(self, line: str) -> None:
        """Take a line that is not of the file, after all others."""
        self._put((len(self._scopes), len(self._taken), 0, 0), line + "\n")
        self._take_waiting()

    def _put(self, place: Place, text: str, node: ast.AST | None = None) -> None:
        if place not in self._taken:
            self._taken[place] = text
            if isinstance(node, ast.stmt):
                self._firsts[place] = first_line(node)
            scope = min(max(place[0], 0), len(self._scopes) - 1)
            named = [name for name in annotated(node) if self._is_bound(name)]
            try:
                read = names_of(text, self.flags)
            except SyntaxError as error:  # nonlocal, without the function around it
                self._refuse(text.partition("\n")[0], "CLR123", f"where {error.msg}")
                return
            self._waiting += [(name, scope) for name in (*sorted(read), *named)]

    def _refuse(self, name: str, code: str, reason: str) -> None:
        self._problems[name] = code, f"{name}, {reason}"

    def _is_bound(self, name: str) -> bool:
        return name in self.values and any(name in scope.bindings for scope in self._scopes)

    def _take(self, name: str, number: int) -> None:
        scope = self._scopes[number]
        value = (self.values if number else self._globals).get(name, _MISSING)
        statements = scope.bindings.get(name, ())
        if value is File or value is Directory:
            if name != value.__name__:
                self._put(_FIRST, f"{name} = {value.__name__}\n")
        elif value is report_progress:
            self._put(_FIRST, f"{name} = {REPORT}\n")
        elif name in ("File", "Directory") and not statements and name not in self.values:
            return  # couler.File
        elif name == "__file__" and not statements:
            reason = "which a step does not have; read the file where the workflow is built"
            self._refuse(name, "CLR122", f"{reason}, or in a module of a package that it is in")
        elif name == "__doc__":
            self._put(_FIRST, f"__doc__ = {value!r}\n")
        elif not statements:
            changes = scope.changes.get(name, ()) if name in self._globals else ()
            self._take_changes(number, name, changes, self._building)
            is_made = any(one.method is None for one in changes)
            if not is_made and not is_builtin(name, self._globals):
                self._take_unbound(name)
        elif number and not all(
            isinstance(one, Definitions | ast.Import | ast.ImportFrom) for one in statements
        ):
            self._take_variable(name, value)
        elif is_of_couler(value) and not self._is_step(value, name, statements[0]):
            self._take_of_couler(name, value, statements[0].lineno)
        else:
            for one in statements:
                self._take_statement(number, one, name)
            self._take_changes(number, name, scope.changes.get(name, ()), self._building)

    def _take_changes(
        self, number: int, name: str, changes: Iterable[Change], left_out: frozenset[str]
    ) -> None:
        """Take the statements that change the value of a name, and that use none of others."""
        value = self.values.get(name)
        for statement, method in changes:
            nodes = [*executed(statement)]
            read = {node.id for node in nodes if isinstance(node, ast.Name)}
            way = (method or "")[:1]
            named = self.values.get((method or "")[1:], value)
            if way in (DECORATOR, BASE):
                is_changed = _registers(value if method == way else named, way)
            else:
                is_changed = method is None or _can_change(value, method)
            if left_out.isdisjoint(read) and is_changed:
                self._take_statement(number, statement, name)
                # What it makes can be a part of the value, and change it in turn.
                self._waiting += [(one, number) for one in bound_names(statement)]

    def _is_global(self, value: t.Any) -> bool:
        return self._globals.get(value.__name__) is value

    def _is_step(self, value: object, name: str, statement: ast.stmt) -> bool:
        if isinstance(statement, ast.ImportFrom):  # of a module of the project
            return hasattr(value, "fn")
        return isinstance(statement, ast.FunctionDef) and name == statement.name

    def _take_statement(self, scope: int, statement: ast.stmt, name: str) -> None:
        place = (scope, *start(statement))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for number, alias in enumerate(statement.names):
                if name in ("*", imported_name(alias)):
                    one: ast.stmt = ast.Import([alias])
                    if isinstance(statement, ast.ImportFrom):
                        one = ast.ImportFrom(statement.module, [alias], statement.level)
                    text = ast.unparse(one) + "\n"
                    self._put((*place, number), text, ast.copy_location(one, statement))
            if not scope and _is_of_project(self._globals.get(name)):
                self._take_unread()
            return
        first = first_line(statement)
        if shares_lines(self._text, statement):
            text = ast.unparse(statement) + "\n"
        else:
            text = unindented(self._text, statement, first)
        files = set() if isinstance(statement, Definitions) else reads_of(text)[0]
        for file in sorted(one for one in files if not re.match(r"/|\w+:", one)):
            reason = f'which reads "{file}", and a step has no such file; make it an argument'
            self._refuse(name, "CLR122", f"{reason}, or read it in a module of a package with it")
        self._put((*place, 0), text, statement)

    def _take_unread(self) -> None:
        """Take imports of the project's modules for what they do: their names are not read."""
        if self._has_unread:
            return
        self._has_unread = True
        read = {name for name, way in uses_of(self._text, self.flags) if way != "STORE_NAME"}
        for name, statements in self._scopes[0].bindings.items():
            for one in statements if name not in read else ():
                is_import = isinstance(one, ast.Import | ast.ImportFrom)
                if is_import and _is_of_project(self._globals.get(name)):
                    self._take_statement(0, one, name)

    def _take_variable(self, name: str, value: t.Any) -> None:
        """Take a variable of the function around as an import or a literal."""
        place = (0, 0, len(self._taken), 0)
        if isinstance(value, ModuleType):
            self._put(place, f"import {value.__name__} as {name}\n")
        elif isinstance(value, FunctionType | type) and self._is_global(value):
            self._put(place, f"{name} = {value.__name__}\n")
        elif _is_literal(value):
            self._put(place, f"{name} = {value!r}\n")
        else:
            kind = type(value).__name__
            reason = f"which is of the type {kind} and of the function around it"
            advice = "make it an argument, or define it at the top of the file"
            self._refuse(name, "CLR123", f"{reason}; {advice}")

    def _take_of_couler(self, name: str, value: t.Any, line: int) -> None:
        function = getattr(value, "fn", None)
        own = getattr(function, "__name__", "")
        if function is not None and self.values.get(own) is function:  # name = couler.step(own)
            self._put((len(self._scopes), 0, 0, 0), f"{name} = {own}\n")
            return
        advice = "call it where the workflow is built" if callable(value) else "make it an argument"
        if isinstance(value, ModuleType):
            advice = "of couler, steps can use File, Directory and report_progress alone"
        reason = f"of line {line}, which exists only where the workflow is built; {advice}"
        self._refuse(name, "CLR122", reason)

    def _take_unbound(self, name: str) -> None:
        """Take a name that no statement binds: a variable of the function around, or of a `*`."""
        if name in self.values and name not in self._globals:
            self._take_variable(name, self.values[name])
            return
        stars = self._scopes[0].stars if name in self._globals else ()
        for one in stars:
            self._take_statement(0, one, "*")
        if not stars:
            self._unbound.append(name)

    def _refuse_unbound(self) -> None:
        """Refuse the names that nothing defines, not even a function that travels, by `global`."""
        stored = {
            name
            for text in (self._taken.values() if self._unbound else ())
            for name, way in uses_of(text, self.flags)
            if way == "STORE_GLOBAL"
        }
        for name in self._unbound:
            if name not in stored:
                why = "no statement of its file" if name in self._globals else "nothing"
                reason = f"which {why} defines; define it in the file, or make it an argument"
                self._refuse(name, "CLR122", reason)


_READING = frozenset(
    ("copy", "count", "get", "index", "items", "keys", "values", "union", "difference")
)
_FIXED = (
    ModuleType,
    FunctionType,
    type,
    str,
    bytes,
    int,
    float,
    complex,
    tuple,
    frozenset,
    PurePath,
)


def _registers(value: object, way: str) -> bool:
    """Return whether a decorator or a base can keep what it is used for."""
    if way == BASE:
        classes = getattr(value, "__mro__", (object,))[:-1]
        has_hook = type(value) is not type or any("__init_subclass__" in vars(c) for c in classes)
        return has_hook and _is_of_project(value)
    is_known = issubclass(type(value), ModuleType | FunctionType | type)
    return _is_of_project(value) if is_known else True


def _is_of_project(value: object) -> bool:
    """Return whether a module, a class or a function is of a module that is not installed."""
    from couler.modules import is_installed

    name = getattr(value, "__name__" if issubclass(type(value), ModuleType) else "__module__", "")
    file = getattr(sys.modules.get(str(name)), "__file__", None)
    return file is not None and not is_installed(Path(file)) and not is_of_couler(value)


def _can_change(value: object, method: str) -> bool:
    """Return whether a method that is called for its result can change the value it is of."""
    if value is None or issubclass(type(value), _FIXED):
        return False
    if method[0] == ".":
        method = method[1:]
        if not callable(getattr(type(value), method, None)):
            return False
    return not (issubclass(type(value), list | dict | set) and method in _READING)


def _that_use(names: frozenset[str], values: Mapping[str, t.Any]) -> frozenset[str]:
    """Return names, and those of the functions that use some of them, in turn as well."""
    functions = {
        name: value.__code__.co_names
        for name, value in values.items()
        if type(value) is FunctionType
    }
    found, count = set(names), 0
    for name, value in values.items():
        of_others = type(value) is FunctionType and value.__globals__ is not values
        if of_others and any(is_of_couler(value.__globals__.get(one)) for one in functions[name]):
            found.add(name)
    while count != len(found):
        count = len(found)
        found |= {name for name, used in functions.items() if not found.isdisjoint(used)}
    return frozenset(found)


def _is_private(node: ast.AST) -> bool:
    """Return whether a node has a name that a class gives a prefix."""
    names = (getattr(node, one, None) for one in ("id", "attr", "arg", "name"))
    return any(isinstance(one, str) and one[:2] == "__" != one[-2:] for one in names)


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not _MISSING
    except ValueError:
        return False


def _is_literal(value: t.Any) -> bool:
    """Return whether the text of a value is a literal that gives it, type by type."""
    kind = type(value)
    if kind in (list, tuple):
        return all(map(_is_literal, value))
    if kind is dict:
        return all(map(_is_literal, (*value.keys(), *value.values())))
    if kind is float:
        return math.isfinite(value)
    return value is None or kind in (bool, int, str, bytes)


def is_builtin(name: str, names: Mapping[str, t.Any]) -> bool:
    """Return whether a name means in a module what it means without it."""
    value = names.get(name)
    if isinstance(value, FunctionType):
        value = inspect.unwrap(value)  # such as the `open` of IPython
    return name in BUILTINS and (
        name.startswith("__") or name not in names or value is getattr(builtins, name, ...)
    )
