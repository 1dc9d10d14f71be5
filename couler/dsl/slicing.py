"""The part of a file that a function needs: the statements that define what it uses."""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import importlib.util
import re
import sys
import typing as t
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import CellType, FunctionType, ModuleType

from couler.dsl._prelude import Directory, File
from couler.dsl.sources import (
    SourceError,
    check_code,
    first_line,
    node_path,
    parsed,
    read_source,
    unindented,
)
from couler.dsl.statements import (
    BUILTINS,
    Definitions,
    Functions,
    annotated,
    bindings,
    has_future,
    imported_name,
    names_of,
    root,
    shares_lines,
    start,
    statements_of,
    uses_of,
)
from couler.packages import is_installed

FLAG = __future__.annotations.compiler_flag
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
    owner = value if isinstance(value, ModuleType | FunctionType | type) else type(value)
    name = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__
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
        The function that is shipped; None for a module that its module uses.
    local_names
        The variables of the function that it was defined in.
    modules
        The slices of other modules that what uses this one takes.
    """

    def __init__(
        self,
        namespace: Mapping[str, t.Any],
        text: str,
        function: FunctionType | None = None,
        local_names: Mapping[str, t.Any] | None = None,
        modules: dict[str, Slice] | None = None,
    ) -> None:
        captured = {}
        if function is not None:
            cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
            captured = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
        self._globals = namespace
        self.values: dict[str, t.Any] = {**namespace, **(local_names or {}), **captured}
        self._of_couler = frozenset(name for name, one in self.values.items() if is_of_couler(one))
        package = str(namespace.get("__package__") or "")
        self._text = _without_couler(text, self._of_couler, package)
        tree = parsed(self._text)
        around = [tree, tree] if function is None else node_path(function, text, self._text)
        self._node = around.pop()
        self._is_method = any(isinstance(one, ast.ClassDef) for one in around)
        scopes = [one for one in around if isinstance(one, ast.Module | Functions)]
        self._scopes = [statements_of(self._text, *start(one)) for one in scopes]
        self._own_flags = FLAG if has_future(tree) else 0
        self._taken: dict[Place, str] = {}
        self._problems: dict[str, tuple[str, str]] = {}
        self._seen: dict[str, int] = {}
        self._waiting: list[tuple[str, int]] = []
        self._used: dict[str, Slice] = {}
        self._modules = {} if modules is None else modules

    def text(self) -> str:
        """Return the statements, in the order of the file.

        Raises
        ------
        ShippingError
            Names have no definition that can travel: all of them are named.
        """
        parts: list[Slice] = []
        self._collect(parts)
        problems = [one for part in parts for one in part._problems.values()]
        if problems:
            messages = "; ".join(message for _, message in problems)
            raise ShippingError(problems[0][0], f"it uses {messages}")
        texts = [part._own_text() for part in parts]
        defined: dict[str, str] = {}
        for text in texts if len(texts) > 1 else ():
            for name, statement in bindings(text).items():
                if defined.setdefault(name, ast.unparse(statement)) != ast.unparse(statement):
                    reason = "two modules of the project; rename one of them"
                    raise ShippingError("CLR125", f"{name} is defined in {reason}")
        return "\n\n".join(texts)

    def _own_text(self) -> str:
        texts: list[str] = []
        was_block = False
        for place in sorted(self._taken):
            text = self._taken[place]
            is_block = re.match(r"@|(def|class|if|try|for|while|with|match)\b", text) is not None
            texts.append(("\n\n" if texts and (is_block or was_block) else "") + text)
            was_block = is_block
        return "".join(texts)

    def _collect(self, parts: list[Slice]) -> None:
        """Add this slice and those that it uses, which come before it."""
        if self not in parts:
            waiting = [one for one in self._used.values() if one is not self]
            self._used = {}  # of modules that use each other, one comes first
            for one in waiting:
                one._collect(parts)
            parts.append(self)

    @property
    def flags(self) -> int:
        """The flag of the compiler by which annotations are texts, or 0."""
        return max([self._own_flags, *(one._own_flags for one in self._modules.values())])

    def take_function(self) -> str:
        """Take the function itself, and return its name."""
        node = self._node
        name = "function" if isinstance(node, ast.Lambda) else t.cast("ast.FunctionDef", node).name
        self._seen[name] = len(self._scopes) - 1
        if isinstance(node, ast.Lambda):
            text = f"{name} = {ast.unparse(node)}\n"
        else:
            statement = t.cast("ast.FunctionDef", node)
            text = unindented(self._text, statement, first_line(statement))
            if self._is_method and any(map(_is_private, ast.walk(statement))):
                reason = "which means another name within a class; rename it"
                self._refuse("a name that begins with __", "CLR110", reason)
        number = len(self._scopes) - 1
        self._put((number, *start(node), 0), text, node)
        for one in self._scopes[number].changes(name, self._of_couler - {name}):
            if isinstance(one, ast.Assign | ast.AugAssign | ast.Delete):
                self._take_statement(number, one, name)
        self._take_waiting()
        return name

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

    def take_class(self, cls: type) -> bool:
        """Take a class of another module of the project; return whether it is of one."""
        module = _project_module(cls.__module__)
        is_of_one = (
            module is not None
            and vars(module) is not self._globals
            and vars(module).get(cls.__name__) is cls
        )
        if module is not None and is_of_one:
            self._take_from(module, cls.__name__, cls.__name__)
        return is_of_one

    def take_line(self, line: str) -> None:
        """Take a line that is not of the file, after all others."""
        self._put((len(self._scopes), len(self._taken), 0, 0), line + "\n")
        self._take_waiting()

    def _put(self, place: Place, text: str, node: ast.AST | None = None) -> None:
        if place not in self._taken:
            self._taken[place] = text
            scope = min(max(place[0], 0), len(self._scopes) - 1)
            named = [name for name in annotated(node) if self._is_bound(name)]
            for name in (*sorted(names_of(text, self._own_flags)), *named):
                self._waiting.append((name, scope))

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
        elif not statements:
            if not is_builtin(name, self._globals):
                self._take_unbound(name)
        elif (found := _imported_from(statements, name)) is not None and not is_of_couler(value):
            self._take_from(*found, name)
        elif number and not all(isinstance(one, Definitions) for one in statements):
            self._take_variable(name, value)
        elif is_of_couler(value) and not self._is_step(name, statements[0]):
            self._take_of_couler(name, value, statements[0].lineno)
        else:
            for one in (*statements, *scope.changes(name, self._of_couler)):
                self._take_statement(number, one, name)

    def _take_from(self, module: ModuleType, own: str, name: str) -> None:
        """Take what another module of the project defines."""
        value = vars(module).get(own)
        found = self._modules.get(module.__name__)
        text = read_source(str(module.__file__), vars(module))
        if found is None:
            found = Slice(vars(module), text, modules=self._modules)
            self._modules[module.__name__] = found
        try:
            check_code(value, text)
        except SourceError as error:
            self._refuse(name, "CLR110", f"but {error}")
        self._used[module.__name__] = found
        found.take([own])
        if name != own:
            self._taken[-1, 1, len(self._taken), 0] = f"{name} = {own}\n"

    def _is_step(self, name: str, statement: ast.stmt) -> bool:
        return isinstance(statement, ast.FunctionDef) and name == statement.name

    def _take_statement(self, scope: int, statement: ast.stmt, name: str) -> None:
        place = (scope, *start(statement))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for number, alias in enumerate(statement.names):
                if name in ("*", imported_name(alias)):
                    one: ast.stmt = ast.Import([alias])
                    if isinstance(statement, ast.ImportFrom):
                        one = ast.ImportFrom(statement.module, [alias], statement.level)
                    self._put((*place, number), ast.unparse(one) + "\n")
            return
        first = first_line(statement)
        if shares_lines(self._text, statement):
            text = ast.unparse(statement) + "\n"
        else:
            text = unindented(self._text, statement, first)
        self._put((*place, 0), text, statement)

    def _take_variable(self, name: str, value: t.Any) -> None:
        """Take a variable of the function around as an import or a literal."""
        place = (0, 0, len(self._taken), 0)
        if isinstance(value, ModuleType):
            self._put(place, f"import {value.__name__} as {name}\n")
        elif self._globals.get(own := getattr(value, "__name__", "")) is value:
            self._put(place, f"{name} = {own}\n")
        elif _is_literal(value):
            self._put(place, f"{name} = {value!r}\n")
        else:
            kind = type(value).__name__
            reason = f"of the function around it, is of the type {kind}, which has no literal"
            self._refuse(name, "CLR123", f"{reason}; make it an argument")

    def _take_of_couler(self, name: str, value: t.Any, line: int) -> None:
        function = getattr(value, "fn", None)
        own = getattr(function, "__name__", "")
        if function is not None and self.values.get(own) is function:  # name = couler.step(own)
            self._put((len(self._scopes), 0, 0, 0), f"{name} = {own}\n")
            return
        advice = "call it where the workflow is built" if callable(value) else "make it an argument"
        if isinstance(value, ModuleType):
            advice = "of couler, steps can use File and Directory alone"
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
        stored = [uses_of(text, self._own_flags) for text in self._taken.values()]
        if not stars and not any((name, "STORE_GLOBAL") in one for one in stored):
            why = "no statement of its file" if name in self._globals else "nothing"
            reason = f"which {why} defines; define it in the file, or make it an argument"
            self._refuse(name, "CLR122", reason)


@functools.lru_cache(maxsize=64)
def _without_couler(text: str, names: frozenset[str], package: str) -> str:
    """Return a text without decorators of Couler, and with absolute imports, on the same lines.

    `names` are those of what is Couler's; `couler.File` becomes `File`.
    """
    lines = text.split("\n")
    edits: list[tuple[ast.expr | ast.stmt, str]] = []
    for node in ast.walk(parsed(text)):
        match node:
            case ast.FunctionDef(decorator_list=given) | ast.ClassDef(decorator_list=given):
                for one in given:
                    if not names.isdisjoint(root(one)):
                        count = (one.end_lineno or one.lineno) - one.lineno + 1
                        lines[one.lineno - 1 : one.end_lineno] = [""] * count
            case ast.Attribute(ast.Name(name), "File" | "Directory" as attribute) if name in names:
                edits.append((node, attribute))
            case ast.ImportFrom(module, aliases, int(level)) if level and package:
                try:
                    full = importlib.util.resolve_name("." * level + (module or ""), package)
                except ImportError:  # beyond the outermost package
                    continue
                edits.append((node, ast.unparse(ast.ImportFrom(full, aliases, 0))))
    for node, new in sorted(edits, key=lambda edit: start(edit[0]), reverse=True):
        last = (node.end_lineno or node.lineno) - 1
        before = lines[node.lineno - 1].encode()[: node.col_offset].decode()
        after = lines[last].encode()[node.end_col_offset :].decode()
        if before or after or lines[node.lineno - 1]:
            count = last - node.lineno + 1
            lines[node.lineno - 1 : last + 1] = [before + new + after, *[""] * count]
    return "\n".join(lines)


def _project_module(name: str | None) -> ModuleType | None:
    """Return a module of the project: one that was imported from a file and is not installed."""
    module = sys.modules.get(name or "")
    file = getattr(module, "__file__", None) or ""
    return module if file.endswith(".py") and not is_installed(Path(file)) else None


def _imported_from(statements: Sequence[ast.stmt], name: str) -> tuple[ModuleType, str] | None:
    """Return the module of the project that a name is imported from, and its name there."""
    match statements:
        case [ast.ImportFrom(module, aliases, 0)]:
            found = _project_module(module)
            [own] = {one.name for one in aliases if imported_name(one) == name}
            if found is not None and not isinstance(vars(found).get(own), ModuleType):
                return found, own
    return None


def _is_private(node: ast.AST) -> bool:
    """Return whether a node has a name that a class gives a prefix."""
    names = (getattr(node, one, None) for one in ("id", "attr", "arg", "name"))
    return any(isinstance(one, str) and one[:2] == "__" != one[-2:] for one in names)


def _is_filled(cell: CellType) -> bool:
    try:
        return cell.cell_contents is not _MISSING
    except ValueError:
        return False


def _is_literal(value: object) -> bool:
    """Return whether a value is equal to what its text gives."""
    try:
        found = ast.literal_eval(repr(value))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return type(found) is type(value) and bool(found == value)


def is_builtin(name: str, names: Mapping[str, t.Any]) -> bool:
    """Return whether a name means in a module what it means without it."""
    return name in BUILTINS and (
        name.startswith("__") or name not in names or names[name] is getattr(builtins, name, ...)
    )
