"""The part of a file that a function needs: the statements that define what it uses."""

from __future__ import annotations
import __future__

import ast
import builtins
import dis
import functools
import importlib.util
import re
import sys
import typing as t
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType

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
from couler.packages import is_installed

FLAG = __future__.annotations.compiler_flag
_BUILTINS = frozenset(dir(builtins)) | {
    *("__annotations__", "__file__", "__module__", "__name__", "__qualname__")
}
_MISSING = object()
Functions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
Definitions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
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
        self._scopes = [_scope(self._text, *_start(one)) for one in scopes]
        self._own_flags = FLAG if _has_future(tree) else 0
        self._taken: dict[Place, str] = {}
        self._problems: dict[str, tuple[str, str]] = {}
        self._seen: dict[str, int] = {}
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
        defined: dict[str, str] = {}
        for text in (part._own_text() for part in parts):
            for name, statement in bindings(text).items():
                if defined.setdefault(name, statement) != statement:
                    reason = "two modules of the project; rename one of them"
                    raise ShippingError("CLR125", f"{name} is defined in {reason}")
        return "\n\n".join(part._own_text() for part in parts)

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
        self._put((number, *_start(node), 0), text, node)
        for one in self._scopes[number].changes(name, self._of_couler - {name}):
            if isinstance(one, ast.Assign | ast.AugAssign | ast.Delete):
                self._take_statement(number, one, name)
        return name

    @property
    def is_decorated(self) -> bool:
        """Whether the function has decorators besides those of Couler."""
        return bool(getattr(self._node, "decorator_list", ()))

    def take(self, names: Iterable[str], scope: int = -1) -> None:
        """Take what defines some names, as a scope sees them; by default that of the function."""
        visible = self._scopes[: scope + 1 or None]
        for name in names:
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

    def _put(self, place: Place, text: str, node: ast.AST | None = None) -> None:
        if place not in self._taken:
            self._taken[place] = text
            scope = min(max(place[0], 0), len(self._scopes) - 1)
            self.take(sorted(names_of(text, self._own_flags)), scope)
            self.take([name for name in _annotated(node) if self._is_bound(name)], scope)

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
        place = (scope, *_start(statement))
        if isinstance(statement, ast.Import | ast.ImportFrom):
            for number, alias in enumerate(statement.names):
                if name in ("*", _imported_name(alias)):
                    one: ast.stmt = ast.Import([alias])
                    if isinstance(statement, ast.ImportFrom):
                        one = ast.ImportFrom(statement.module, [alias], statement.level)
                    self._put((*place, number), ast.unparse(one) + "\n")
            return
        first = first_line(statement)
        if _shares_lines(self._text, statement):
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
        stored = [_uses_of(text, self._own_flags) for text in self._taken.values()]
        if not stars and not any((name, "STORE_GLOBAL") in one for one in stored):
            why = "no statement of its file" if name in self._globals else "nothing"
            reason = f"which {why} defines; define it in the file, or make it an argument"
            self._refuse(name, "CLR122", reason)


class _Statements:
    """The statements of a module or a function: which bind a name, and which change its value."""

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self._statements = [*_run_on_import(statements)]
        self.bindings: dict[str, list[ast.stmt]] = {}
        for statement in self._statements:
            for name in dict.fromkeys(bound_names(statement)):
                self.bindings.setdefault(name, []).append(statement)
        self.stars = self.bindings.pop("*", [])

    @functools.cached_property
    def _changing(self) -> dict[str, list[ast.stmt]]:
        changing: dict[str, list[ast.stmt]] = {}
        for statement in self._statements:
            for name in dict.fromkeys(self._changed(_executed(statement), frozenset())):
                changing.setdefault(name, []).append(statement)
        return changing

    def changes(self, name: str, left_out: frozenset[str]) -> Iterator[ast.stmt]:
        """Yield the statements that change the value of a name and read none of others."""
        for one in self._changing.get(name, ()):
            read = {node.id for node in _executed(one) if isinstance(node, ast.Name)}
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
                    yield from _root(node)
                case ast.Expr(ast.Call(function, arguments)):
                    roots = [*_root(function)]
                    if isinstance(function, ast.Attribute):
                        yield from roots
                    if not _BUILTINS.issuperset(roots):
                        yield from (one.id for one in arguments if isinstance(one, ast.Name))
                case ast.ClassDef(bases=bases):
                    called = [*node.decorator_list, *bases]
                    roots = [one for base in bases for one in _root(base)]
                    yield from filter(self._is_hooked, roots)
                case ast.FunctionDef():
                    called = node.decorator_list
                case ast.Call(function):
                    called = [function]
            for name in (one for expression in called for one in _root(expression)):
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
def _scope(text: str, line: int, column: int) -> _Statements:
    """Return the scope of the module, at line 0, or of the function that begins somewhere."""
    tree = parsed(text)
    if not line:
        return _Statements(tree.body)
    found = (one for one in ast.walk(tree) if isinstance(one, Functions))
    node = next(one for one in found if _start(one) == (line, column))
    return _Statements([] if isinstance(node, ast.Lambda) else node.body)


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
            return [_imported_name(alias) for alias in names]
        case ast.Name(name, ast.Store() | ast.Del()):
            found = [name]
        case ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)):
            found = [name]
        case ast.MatchMapping(rest=str(name)):
            found = [name]
    return found + [name for child in ast.iter_child_nodes(node) for name in bound_names(child)]


def _imported_name(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run where a statement runs: all but the bodies of functions."""
    yield node
    children = ast.iter_child_nodes(node)
    if isinstance(node, Functions):
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        children = iter([*getattr(node, "decorator_list", ()), *defaults])
    for child in children:
        yield from _executed(child)


def _root(node: ast.AST) -> Iterator[str]:
    """Yield the name that an expression begins with, if it does with one."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def _annotated(node: ast.AST | None) -> Iterator[str]:
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
                    if not names.isdisjoint(_root(one)):
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
    for node, new in sorted(edits, key=lambda edit: _start(edit[0]), reverse=True):
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
            [own] = {one.name for one in aliases if _imported_name(one) == name}
            if found is not None and not isinstance(vars(found).get(own), ModuleType):
                return found, own
    return None


def _is_private(node: ast.AST) -> bool:
    """Return whether a node has a name that a class gives a prefix."""
    names = (getattr(node, one, None) for one in ("id", "attr", "arg", "name"))
    return any(isinstance(one, str) and one[:2] == "__" != one[-2:] for one in names)


def _has_future(tree: ast.Module) -> bool:
    """Return whether annotations of a module are texts."""
    return any(
        isinstance(one, ast.ImportFrom)
        and one.module == "__future__"
        and any(alias.name == "annotations" for alias in one.names)
        for one in tree.body
    )


def bindings(source: str) -> dict[str, str]:
    """Return the names that a source binds, each with its last statement."""
    return {name: ast.unparse(one) for one in ast.parse(source).body for name in bound_names(one)}


def _start(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _shares_lines(text: str, statement: ast.stmt) -> bool:
    """Return whether other statements are on the lines of one."""
    lines = text.split("\n")
    before = lines[statement.lineno - 1].encode()[: statement.col_offset]
    after = lines[(statement.end_lineno or 1) - 1].encode()[statement.end_col_offset :]
    return bool(before.strip()) or after.strip().startswith(b";")


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
    return name in _BUILTINS and (
        name.startswith("__") or name not in names or names[name] is getattr(builtins, name, ...)
    )


def names_of(source: str, flags: int) -> set[str]:
    """Return the global names that a piece of source reads and does not define itself."""
    code = t.cast("CodeType", compile(source, "<step>", "exec", flags=flags, dont_inherit=True))
    own = {name for name, way in _global_uses(code, within=False) if way == "STORE_NAME"}
    return {name for name, way in _global_uses(code) if way != "STORE_NAME"} - own


def _uses_of(source: str, flags: int) -> set[tuple[str, str]]:
    code = t.cast("CodeType", compile(source, "<step>", "exec", flags=flags, dont_inherit=True))
    return _global_uses(code)


def _global_uses(code: CodeType, *, within: bool = True) -> set[tuple[str, str]]:
    """Return the names that code reads and makes outside of functions, with the instructions.

    What the body of a class makes is no global, and what it reads of that neither.
    """
    used = {
        (instruction.argval, instruction.opname)
        for instruction in dis.get_instructions(code)
        if instruction.opname.endswith(("_GLOBAL", "_NAME", "FROM_DICT_OR_GLOBALS"))
        and not instruction.opname.startswith("IMPORT")
    }
    made = {name for name, way in used if way == "STORE_NAME"}
    used = {(name, way) for name, way in used if way == "STORE_NAME" or name not in made}
    for constant in code.co_consts if within else ():
        if isinstance(constant, CodeType):
            used |= {one for one in _global_uses(constant) if one[1] != "STORE_NAME"}
    return used
