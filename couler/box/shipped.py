"""Which functions of a program are shipped: their text runs as a step, and never in the build."""

from __future__ import annotations

import ast
import typing as t
from collections.abc import Iterator

_Functions: t.TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


def shipped_functions(tree: ast.Module) -> list[ast.FunctionDef]:
    r"""Return the functions of a program whose bodies do not run while it is built."""
    names = _Names(tree)
    decorated = [one for one in names.functions if names.is_step(one)]
    inside = {id(node) for one in decorated for part in one.body for node in ast.walk(part)}
    given = _given_places(tree, names, inside)
    others = [
        one
        for one in names.functions
        if not one.decorator_list and id(one) not in inside and _is_only_given(one, names, given)
    ]
    within = {id(node) for one in others for part in one.body for node in ast.walk(part)}
    found = [*decorated, *others]
    return [one for one in found if id(one) not in inside | within]


class _Names:
    """What the names of a program stand for, as far as its imports and assignments say."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions: list[ast.FunctionDef] = []
        self.modules: set[str] = set()
        self.imported: dict[str, str] = {}
        self.bound: dict[str, int] = {}
        self.loads: dict[str, list[ast.Name]] = {}
        assigned: list[tuple[str, ast.expr]] = []
        for node in ast.walk(tree):
            self._read(node)
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Name):
                    assigned.append((target.id, node.value))
        self.makers = {
            name
            for name, value in assigned
            if self.bound[name] == 1 and self._is_options_of_step(value)
        }

    def _read(self, node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef):
            self.functions.append(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            self._bind(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            self.loads.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.Name):
            self._bind(node.id)
        elif isinstance(node, ast.arg):
            self._bind(node.arg)
        elif isinstance(node, ast.Import):
            for one in node.names:
                self._bind(one.asname or one.name.partition(".")[0])
                if one.name == "couler" or (one.name == "couler.argo" and one.asname):
                    self.modules.add(one.asname or one.name)
        elif isinstance(node, ast.ImportFrom) and node.module in ("couler", "couler.argo"):
            for one in node.names:
                self._bind(one.asname or one.name)
                self.imported[one.asname or one.name] = one.name

    def _bind(self, name: str) -> None:
        self.bound[name] = self.bound.get(name, 0) + 1

    def is_called(self, node: ast.expr, name: str) -> bool:
        """Return whether an expression is a function of Couler."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr == name and node.value.id in self.modules
        return isinstance(node, ast.Name) and self.imported.get(node.id) == name

    def _is_options_of_step(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and not node.args and self.is_called(node.func, "step")

    def is_maker(self, node: ast.expr) -> bool:
        """Return whether an expression makes a step of a function that it is called with."""
        return (
            self.is_called(node, "step")
            or self._is_options_of_step(node)
            or (isinstance(node, ast.Name) and node.id in self.makers)
        )

    def is_step(self, node: _Functions) -> bool:
        """Return whether decorators make a function a step."""
        return bool(node.decorator_list) and all(map(self.is_maker, node.decorator_list))


def _given_places(tree: ast.Module, names: _Names, inside: set[int]) -> set[int]:
    """Return the names that stand where a function is shipped from, by the ids of their nodes."""
    found: set[int] = set(inside)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        if names.is_called(node.func, "run_script"):
            places = [one.value for one in node.keywords if one.arg == "source"]
            places += node.args[2:3]
        elif names.is_maker(node.func):
            places = node.args[:1]
        else:
            continue
        found.update(id(one) for place in places for one in _name_in(place))
    return found


def _name_in(place: ast.expr) -> Iterator[ast.expr]:
    """Yield the name that is shipped from a place, also from within a functools.partial."""
    if isinstance(place, ast.Call) and place.args:
        function = place.func
        name = function.attr if isinstance(function, ast.Attribute) else None
        if name == "partial" or (isinstance(function, ast.Name) and function.id == "partial"):
            yield place.args[0]
    yield place


def _is_only_given(node: ast.FunctionDef, names: _Names, given: set[int]) -> bool:
    loads = names.loads.get(node.name, [])
    outside = [one for one in loads if id(one) not in given]
    return names.bound[node.name] == 1 and bool(loads) and not outside
