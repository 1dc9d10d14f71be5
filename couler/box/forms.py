"""Imports, functions and classes: in which forms a generated program may have them."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterable

from couler.box.bindings import Bindings
from couler.box.words import ACTS, MODULES

IMPORT, FORM, HANDING_OVER = "CLR603", "CLR607", "CLR610"

_LIBRARIES = "Libraries are imported in the functions of steps, where they are installed"
_CLASS = (
    "a class is a NamedTuple or a dataclass with annotated fields, and nothing else. Write "
    "functions beside it"
)


class FormRules(ast.NodeVisitor):
    """Visits what defines names."""

    bindings: Bindings

    def refuse(self, code: str, node: ast.AST, message: str) -> None:
        """Keep a reason, at the line of a node."""
        raise NotImplementedError

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Return the name that is nearest, in a sentence; nothing for what will not be told."""
        raise NotImplementedError

    def check_type(self, node: ast.expr | None) -> None:
        """Refuse an annotation that is no type."""
        raise NotImplementedError

    def check_bound(self, node: ast.AST, name: str) -> None:
        """Refuse to give a meaning to names of Python, and a second one to imports."""
        raise NotImplementedError

    def about_member(
        self, module: str, name: str, node: ast.AST, known: frozenset[str]
    ) -> tuple[str, ast.AST, str]:
        """Return the refusal of a name of a module."""
        if module in ("couler", "couler.argo") and name in ACTS:
            return HANDING_OVER, node, f"a generated program cannot use {name}: {ACTS[name]}"
        hint = self.hint(name, known)
        return IMPORT, node, f"a generated program cannot use {name} of {module}.{hint}"

    def visit_Import(self, node: ast.Import) -> None:
        """Allow modules of Couler, and some of Python that only compute."""
        for one in node.names:
            if one.name not in MODULES:
                self._refuse_module(node, one.name)
            self._check_alias(node, one)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Allow names of modules that may be imported, one by one."""
        module = node.module or "."
        if node.level or module not in MODULES:
            self._refuse_module(node, "." * node.level + (node.module or ""))
            return
        for one in node.names:
            if one.name == "*":
                self.refuse(IMPORT, node, f"names of {module} are imported one by one, not by *")
            elif one.name not in MODULES[module]:
                self.refuse(*self.about_member(module, one.name, node, MODULES[module]))
            self._check_alias(node, one)

    def _check_alias(self, node: ast.AST, one: ast.alias) -> None:
        name = one.asname or one.name.partition(".")[0]
        if name.startswith("__"):
            self.check_bound(node, name)

    def _refuse_module(self, node: ast.AST, module: str) -> None:
        if module == "couler.argo_submitter":
            message = f"a generated program cannot import {module}: {ACTS['ArgoSubmitter']}"
            self.refuse(HANDING_OVER, node, message)
            return
        near = difflib.get_close_matches(module, MODULES, n=1) if "couler" in module else []
        hint = f'Did you mean "{near[0]}"?' if near else _LIBRARIES
        self.refuse(IMPORT, node, f"a generated program cannot import {module}. {hint}")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Look at a function, and at its body unless it is shipped."""
        self.check_bound(node, node.name)
        is_shipped = id(node) in self.bindings.shipped
        for one in node.decorator_list:
            if is_shipped:
                self.visit(one)
            else:
                self.refuse(
                    FORM,
                    one,
                    f"the decorator `{ast.unparse(one):.60}` is not couler.step, which is the only "
                    "one that a function may have",
                )
        self._check_no_parameters_of_type(node)
        self._visit_arguments(node.args, binds=not is_shipped)
        self.check_type(node.returns)
        for part in () if is_shipped else node.body:
            self.visit(part)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Look at a lambda."""
        self._visit_arguments(node.args, binds=True)
        self.visit(node.body)

    def _visit_arguments(self, arguments: ast.arguments, *, binds: bool) -> None:
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        for one in (*named, arguments.vararg, arguments.kwarg):
            if one is None:
                continue
            if binds or one.arg.startswith("__"):
                self.check_bound(one, one.arg)
            self.check_type(one.annotation)
        for default in (*arguments.defaults, *arguments.kw_defaults):
            if default is not None:
                self.visit(default)

    def _check_no_parameters_of_type(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        if getattr(node, "type_params", ()):
            self.refuse(FORM, node, f"{node.name} has parameters of type: name the types")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Allow records of annotated fields."""
        self.check_bound(node, node.name)
        self._check_no_parameters_of_type(node)
        bases = [self.bindings.member_of(one) for one in node.bases]
        decorators = [
            self.bindings.member_of(one.func if isinstance(one, ast.Call) else one)
            for one in node.decorator_list
        ]
        is_record = (bases == [("typing", "NamedTuple")] and not decorators) or (
            not bases and decorators == [("dataclasses", "dataclass")]
        )
        if not is_record or node.keywords:
            self.refuse(FORM, node, f"{node.name}: {_CLASS}")
        for one in node.decorator_list:
            if isinstance(one, ast.Call):
                self.visit(one)
        for part in node.body:
            self._visit_field(node, part)

    def _visit_field(self, node: ast.ClassDef, part: ast.stmt) -> None:
        is_text = isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)
        if is_text or isinstance(part, ast.Pass):
            return
        if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
            self.refuse(FORM, part, f"{node.name}: {_CLASS}")
        elif part.target.id.startswith("_"):
            self.refuse(FORM, part, f"{node.name}: a field begins with a letter")
        else:
            self.check_type(part.annotation)
            if part.value is not None:
                self.visit(part.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Look at an assignment with a type."""
        self.visit(node.target)
        self.check_type(node.annotation)
        if node.value is not None:
            self.visit(node.value)
