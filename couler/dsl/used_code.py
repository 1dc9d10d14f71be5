"""What a source uses of the project's modules, definition by definition: for keys of caches."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from couler.dsl.plain import strip_couler
from couler.dsl.sources import ANNOTATIONS, SourceError, first_line, lines_of, parsed
from couler.dsl.statements import (
    Definitions,
    Statements,
    annotated,
    executed,
    has_future,
    names_called,
    names_of,
    statements_of,
)
from couler.ir.imports import absolute_name, bindings, imported_name

_ANY_NAME = re.compile(
    r"\bglobals\(\)|\b__subclasses__\b|\bsys\.modules\[__name__\]|\bgetmembers\("
)
"""What finds definitions of a module by other ways than their names."""


class _Module:
    """A module, and the statements of it that are used."""

    def __init__(self, name: str, file: Path) -> None:
        self.name = name
        self.package = name if file.stem == "__init__" else name.rpartition(".")[0]
        whole = file.read_bytes().decode(errors="replace")
        self.text = strip_couler(whole)
        tree = parsed(self.text)
        self.flags = ANNOTATIONS if has_future(tree) else 0
        self.scope: Statements = statements_of(self.text, 0, 0)
        all_names = self.scope.bindings if whole == self.text else bindings(whole)
        self.left_out = all_names.keys() - self.scope.bindings.keys()
        self.finds_names = _ANY_NAME.search(whole) is not None
        self.taken: dict[int, str] = {}


def used_code(source: str, own: Mapping[str, Path], missing: list[str]) -> str:
    """Return the text of all that a source uses of modules, by their names and in their order.

    Names that it uses and that only the building of workflows makes are added to `missing`.

    Of a module that is used as a value all counts, and of every module the statements that do
    something when it is imported: calls, loops, decorators and bases from other modules.
    """
    return _Reach(own, missing).text(source)


class _Reach:
    def __init__(self, own: Mapping[str, Path], missing: list[str]) -> None:
        self._missing = missing
        self._modules: dict[str, _Module] = {}
        self._texts: dict[str, str] = {}
        for name, file in own.items():
            try:
                self._modules[name] = _Module(name, file)
            except SourceError as error:
                raise SourceError(f"{name}: {error}") from error
        self._own = own
        self._waiting: list[tuple[str, str]] = []
        self._seen: set[tuple[str, str]] = set()
        self._wholes: set[str] = set()

    def text(self, source: str) -> str:
        self._read(parsed(source), None)
        for module in self._modules.values():
            for one in module.scope.statements:
                if self._does_something(one, module):
                    self._take(module, one)
        for entry in self._waiting:  # which grows
            if entry not in self._seen and entry[0] in self._modules:
                self._seen.add(entry)
                self._take_name(self._modules[entry[0]], entry[1])
        for name, module in self._modules.items():
            self._texts[name] = "".join(module.taken[line] for line in sorted(module.taken))
        return repr(sorted(self._texts.items()))

    def _take_name(self, module: _Module, name: str) -> None:
        scope = module.scope
        if module.finds_names:
            self._whole(module.name)
        bound = scope.bindings.get(name, ())
        for one in bound:
            if isinstance(one, ast.Import | ast.ImportFrom):
                wanted = [each for each in one.names if imported_name(each) == name]
                for target in self._import(one, wanted, module).values():
                    self._whole(target)
            else:
                self._take(module, one)
                for statement, method in scope.changes.get(name, ()):
                    # A method of a class, called for its result, changes no class.
                    if method is None or method[0] in "@<" or not isinstance(one, Definitions):
                        self._take(module, statement)
        if not bound and self._is_module(f"{module.name}.{name}"):
            self._whole(f"{module.name}.{name}")
        if not bound:
            if name in module.left_out - {"File", "Directory"}:
                self._missing.append(f"{module.name}.{name}")
            if name != "__getattr__":
                self._waiting.append((module.name, "__getattr__"))
            for one in scope.stars:
                if isinstance(one, ast.ImportFrom):
                    self._waiting.append((self._base(one, module), name))

    def _take(self, module: _Module, node: ast.stmt) -> None:
        first = first_line(node)
        if first not in module.taken:
            lines = lines_of(module.text)[first - 1 : node.end_lineno]
            module.taken[first] = "\n".join(lines) + "\n"
            self._read(node, module)

    def _whole(self, name: str) -> None:
        if name in self._modules and name not in self._wholes:
            self._wholes.add(name)
            module = self._modules[name]
            for one in module.scope.statements:
                self._take(module, one)
                if isinstance(one, ast.Import | ast.ImportFrom):
                    for target in self._import(one, one.names, module).values():
                        self._whole(target)

    def _read(self, node: ast.AST, module: _Module | None) -> None:
        """Note what a statement of a module uses, or a whole source."""
        aliases: dict[str, str] = {}
        for one in ast.walk(node):
            if isinstance(one, ast.Import | ast.ImportFrom):
                aliases.update(self._import(one, one.names, module))
            elif isinstance(one, ast.Constant) and isinstance(one.value, str):
                for name in {one.value, f"{one.value}.__main__"} & self._modules.keys():
                    self._whole(name)  # by import_module("...") or the like
        if module is not None:
            text = ast.unparse(node)
            read = {*names_of(text, module.flags), *annotated(node)}
            for name in read - aliases.keys():
                for one in module.scope.bindings.get(name, ()):
                    if isinstance(one, ast.Import | ast.ImportFrom):
                        aliases.update(self._aliases(one, one.names, module))
            self._waiting += [(module.name, name) for name in sorted(read - aliases.keys())]
        self._follow(node, aliases)

    def _import(
        self, node: ast.Import | ast.ImportFrom, names: Iterable[ast.alias], module: _Module | None
    ) -> dict[str, str]:
        """Note the definitions that an import names; return the modules that it names."""
        if isinstance(node, ast.ImportFrom):
            base = self._base(node, module)
            self._waiting += [
                (base, one.name)
                for one in names
                if one.name != "*"
                and (not self._is_module(f"{base}.{one.name}") or self._binds(base, one.name))
            ]
            if any(one.name == "*" for one in names) and (
                module is None or module.name in self._wholes
            ):
                self._whole(base)
        return self._aliases(node, names, module)

    def _aliases(
        self, node: ast.Import | ast.ImportFrom, names: Iterable[ast.alias], module: _Module | None
    ) -> dict[str, str]:
        found: dict[str, str] = {}
        for one in names:
            if isinstance(node, ast.ImportFrom):
                name = f"{self._base(node, module)}.{one.name}"
            else:
                name = one.name if one.asname else one.name.partition(".")[0]
            if self._is_module(name):
                found[imported_name(one)] = name
        return found

    def _binds(self, module: str, name: str) -> bool:
        return module in self._modules and name in self._modules[module].scope.bindings

    def _is_module(self, name: str) -> bool:
        return any(own == name or own.startswith(f"{name}.") for own in self._own)

    def _base(self, node: ast.ImportFrom, module: _Module | None) -> str:
        package = "" if module is None else module.package
        name = "." * node.level + (node.module or "")
        return absolute_name(name, package)

    def _follow(self, node: ast.AST, aliases: Mapping[str, str]) -> None:
        """Note what is read of modules by their names."""
        parts: list[str] = []
        inner = node
        while isinstance(inner, ast.Attribute):
            parts.insert(0, inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id in aliases:
            target = aliases[inner.id]
            while parts and self._is_module(f"{target}.{parts[0]}"):
                target = f"{target}.{parts.pop(0)}"
            if parts:
                self._waiting.append((target, parts[0]))
            else:
                self._whole(target)
            return
        for child in ast.iter_child_nodes(node):
            self._follow(child, aliases)

    def _does_something(self, node: ast.stmt, module: _Module) -> bool:
        """Return whether a statement of a module does something when it is imported."""
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return self._is_from_project(names_called(node), module)
            case ast.Assign() | ast.AnnAssign():
                parts = [*executed(node)]
                return any(
                    isinstance(one, ast.Attribute | ast.Subscript)
                    and not isinstance(one.ctx, ast.Load)
                    for one in parts
                ) or self._is_from_project(
                    (name for one in parts for name in names_called(one)), module
                )
            case ast.Expr(ast.Constant()) | ast.Import() | ast.ImportFrom() | ast.Pass():
                return False
        return True

    def _is_from_project(self, names: Iterable[str], module: _Module) -> bool:
        """Return whether names come from another module of the project, or are made with some."""
        waiting = [*names]
        for name in waiting:  # which grows
            for one in module.scope.bindings.get(name, ()):
                if isinstance(one, ast.ImportFrom) and self._base(one, module) in self._own:
                    return True
                if isinstance(one, ast.Import | ast.ImportFrom):
                    if self._aliases(one, one.names, module):
                        return True
                else:
                    used = (each for part in ast.walk(one) for each in names_called(part))
                    waiting += [each for each in used if each not in waiting]
        return False
