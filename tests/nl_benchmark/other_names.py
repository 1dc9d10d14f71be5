"""Programs as another author could have written them: with other names for all that they define."""

from __future__ import annotations

import ast


def in_other_names(program: str) -> str:
    r"""Return a program with other names of functions, parameters, classes, fields and variables.

    Examples
    --------
    >>> print(in_other_names("def add(a, b):\n    return a + b\ntotal = add(1, b=2)"))
    def my_add(my_a, my_b):
        return my_a + my_b
    my_total = my_add(1, my_b=2)
    """
    tree = ast.parse(program)
    names = {node.id for node in ast.walk(tree) if _is_bound(node)} - {"wf"}
    names |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    fields: set[str] = set()
    callables: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            callables.add(node.name)
        if isinstance(node, ast.ClassDef):
            callables.add(node.name)
            fields |= {_target(one) for one in node.body if isinstance(one, ast.AnnAssign)}
    return ast.unparse(_Renamer(names | callables | fields, fields, callables).visit(tree))


def _is_bound(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _target(node: ast.AnnAssign) -> str:
    assert isinstance(node.target, ast.Name)
    return node.target.id


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: set[str], fields: set[str], callables: set[str]) -> None:
        self._names, self._fields, self._callables = names, fields, callables

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._other(node.id, self._names)
        return node

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.arg = self._other(node.arg, self._names)
        return self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.name = self._other(node.name, self._names)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self._other(node.name, self._names)
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        is_parameter = isinstance(node.value, ast.Attribute) and node.value.attr == "params"
        if not is_parameter:
            node.attr = self._other(node.attr, self._fields)
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        if self._is_own(node.func):
            for keyword in node.keywords:
                keyword.arg = keyword.arg and self._other(keyword.arg, self._names)
        return self.generic_visit(node)

    def _is_own(self, node: ast.expr) -> bool:
        match node:
            case ast.Name(id=name):
                return name in self._callables
            case ast.Attribute(value=value, attr="partial" | "map"):
                return self._is_own(value)
            case ast.Call(func=ast.Attribute(value=value, attr="partial" | "with_options")):
                return self._is_own(value)
            case _:
                return False

    def _other(self, name: str, names: set[str]) -> str:
        return f"my_{name}" if name in names else name
