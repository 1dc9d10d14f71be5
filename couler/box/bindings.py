"""What the names of a program stand for: imports, and all else that it binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from couler.box.declared import declared_names
from couler.box.shipped import shipped_functions
from couler.box.words import MODULES


class Bindings:
    """The names of a program, as far as they are bound by what runs in the build."""

    def __init__(self, tree: ast.Module) -> None:
        self.shipped = {id(one) for one in shipped_functions(tree)}
        self.modules: dict[str, str] = {}
        self.members: dict[str, tuple[str, str]] = {}
        self.others: dict[str, list[ast.AST]] = {}
        self.classes: set[str] = set()
        assigned: dict[str, ast.expr] = {}
        for node in self.running(tree):
            for name in _bound_by(node):
                self.others.setdefault(name, []).append(node)
            if isinstance(node, ast.Import):
                for one in node.names:
                    name = one.asname or one.name.partition(".")[0]
                    self.modules[name] = one.name if one.asname else name
            elif isinstance(node, ast.ImportFrom):
                for one in node.names:
                    self._import(one.asname or one.name, node.module or "", one.name)
            elif isinstance(node, ast.ClassDef):
                self.classes.add(node.name)
            elif isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    assigned[target.id] = node.value
        self.aliases = {
            name: value for name, value in assigned.items() if len(self.others[name]) == 1
        }
        self.types: set[str] = set()
        self.declared = declared_names(tree, self.aliases)

    def _import(self, name: str, module: str, member: str) -> None:
        if f"{module}.{member}" in MODULES:
            self.modules[name] = f"{module}.{member}"
        else:
            self.members[name] = module, member

    def running(self, tree: ast.AST) -> Iterator[ast.AST]:
        """Yield the nodes of a program that run in the build."""
        waiting = [tree]
        while waiting:
            node = waiting.pop()
            yield node
            if isinstance(node, ast.FunctionDef) and id(node) in self.shipped:
                waiting += [*node.decorator_list, *_around(node.args)]
            else:
                waiting += ast.iter_child_nodes(node)

    def is_imported(self, name: str) -> bool:
        """Return whether a name is that of an import."""
        return name in self.modules or name in self.members

    def is_bound(self, name: str) -> bool:
        """Return whether the program gives a name a meaning."""
        return name in self.others or self.is_imported(name)

    def module_of(self, node: ast.AST) -> str | None:
        """Return the module that an expression stands for, None for others."""
        if isinstance(node, ast.Name):
            return self.modules.get(node.id)
        if isinstance(node, ast.Attribute):
            outer = self.module_of(node.value)
            name = f"{outer}.{node.attr}"
            return name if outer is not None and name in MODULES else None
        return None

    def member_of(self, node: ast.AST) -> tuple[str, str] | None:
        """Return the module and the name there that an expression stands for, None for others."""
        if isinstance(node, ast.Name):
            return self.members.get(node.id)
        if isinstance(node, ast.Attribute):
            module = self.module_of(node.value)
            return None if module is None else (module, node.attr)
        return None


def _around(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Yield the expressions at the arguments of a function, which run where it is defined."""
    yield from arguments.defaults
    yield from (one for one in arguments.kw_defaults if one is not None)


def _bound_by(node: ast.AST) -> Iterable[str]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return (node.name,)
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return (node.id,)
        case ast.arg():
            return (node.arg,)
        case ast.ExceptHandler(name=str()) | ast.MatchAs(name=str()) | ast.MatchStar(name=str()):
            return (str(node.name),)
    return ()
