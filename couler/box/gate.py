"""The gate: which programs are built at all. It reads a program, and runs nothing of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from couler.box.annotations import type_problem
from couler.box.bindings import Bindings
from couler.box.calls import CallRules
from couler.box.forms import FormRules
from couler.box.syntax import ALLOWED, INSTEAD
from couler.box.text_checks import RefusedTextError, parse
from couler.box.words import BUILTINS, HANDLES, METHODS, MODULES, REFUSED, SETTABLE
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef

SYNTAX, NAME, ATTRIBUTE = "CLR604", "CLR605", "CLR606"
BINDING, ANNOTATION = "CLR611", "CLR612"

MOST_PROBLEMS = 50
_MOST_TEXT = 600


def check_program(source: str, *, file: str = "workflow.py") -> tuple[Diagnostic, ...]:
    r"""Return why a program must not be built, or nothing if it may be."""
    try:
        tree = parse(source)
    except RefusedTextError as error:
        place = SourceRef(file=file, line=error.line)
        return (Diagnostic(error.code, str(error), source=place),)
    gate = _Gate(Bindings(tree), file)
    gate.visit(tree)
    found = dict.fromkeys(sorted(gate.found, key=lambda one: one.source.line if one.source else 0))
    return tuple(found)[:MOST_PROBLEMS]


class _Gate(CallRules, FormRules, ast.NodeVisitor):
    """Visits what runs in the build, and keeps what is refused."""

    def __init__(self, bindings: Bindings, file: str) -> None:
        self.bindings = bindings
        self.found: list[Diagnostic] = []
        self._file = file
        self._line = 1

    def refuse(self, code: str, node: ast.AST, message: str) -> None:
        """Keep a reason, at the line of a node."""
        line = getattr(node, "lineno", self._line)
        if len(message) > _MOST_TEXT:  # names can have any length
            message = f"{message[: _MOST_TEXT // 2]} ... {message[-_MOST_TEXT // 2 :]}"
        self.found.append(Diagnostic(code, message, source=SourceRef(file=self._file, line=line)))

    def hint(self, name: str, known: Iterable[str]) -> str:
        """Return the name that is nearest, in a sentence; nothing for what will not be told."""
        return "" if len(self.found) >= MOST_PROBLEMS else did_you_mean(name, known)

    def check_type(self, node: ast.expr | None) -> None:
        """Refuse an annotation that is no type."""
        problem = None if node is None else type_problem(node, self.bindings)
        if problem is not None and node is not None:
            self.refuse(
                ANNOTATION,
                node,
                f"{problem.message}: annotations are evaluated where the workflow is built. Write "
                "int, str, list[float], couler.File or a class of the program",
            )

    def visit(self, node: ast.AST) -> None:
        """Look at a node and at what is in it; what is in refused syntax is not looked at."""
        self._line = getattr(node, "lineno", self._line)
        if isinstance(node, ALLOWED):
            super().visit(node)
            return
        what, instead = INSTEAD.get(type(node), (type(node).__name__, "Write it in another way"))
        self.refuse(SYNTAX, node, f"a generated program cannot have {what}. {instead}")

    def visit_If(self, node: ast.If) -> None:
        """Allow `if __name__ == "__main__":`, which is what the build runs."""
        if ast.unparse(node.test) != "__name__ == '__main__'":
            self.visit(node.test)
        for part in (*node.body, *node.orelse):
            self.visit(part)

    def visit_Name(self, node: ast.Name) -> None:
        """Allow names that the program binds, and builtins that only compute."""
        name = node.id
        if not isinstance(node.ctx, ast.Load):
            self.check_bound(node, name)
        elif name.startswith("__"):
            self.refuse(NAME, node, f"{name} leads into the interpreter: use no such name")
        elif name in self.bindings.modules:
            self.refuse(NAME, node, f"the module {name} is no value: write {name}.NAME")
        elif self.bindings.members.get(name, ("", ""))[0] == "typing":
            self.refuse(NAME, node, f"{name} stands in annotations, and is no value")
        elif not (self.bindings.is_bound(name) or name in BUILTINS or "*" in self.bindings.members):
            hint = self.hint(name, (*BUILTINS, *self.bindings.others, *self.bindings.members))
            self.refuse(
                NAME,
                node,
                f"a generated program cannot use {name}: it is neither defined by the program nor "
                f"one of the builtins that only compute.{hint}",
            )

    def visit_Attribute(self, node: ast.Attribute) -> None:
        """Allow what is public of Couler's modules, of its handles and of Python's own values."""
        name, module = node.attr, self.bindings.module_of(node.value)
        if module is not None:
            self.check_member(node, module, name)
            if not isinstance(node.ctx, ast.Load):
                self.refuse(BINDING, node, f"{module}.{name} is Couler's: leave it as it is")
            return
        if name.startswith("_"):
            self.refuse(ATTRIBUTE, node, f"the attribute {name} leads into the interpreter")
        elif name in REFUSED:
            self.refuse(
                ATTRIBUTE,
                node,
                f"the attribute {name} is refused: {REFUSED[name]}. A field of this name must be "
                "renamed",
            )
        elif name == "run":
            self.refuse(ATTRIBUTE, node, "run is called without arguments, or left out")
        elif not isinstance(node.ctx, ast.Load) and name not in SETTABLE:
            self.refuse(BINDING, node, f"the attribute {name} is set: build values with calls")
        elif not self._is_known(name):
            hint = self.hint(name, METHODS | HANDLES | self.bindings.declared)
            self.refuse(
                ATTRIBUTE,
                node,
                f"a generated program cannot use the attribute {name}: it is neither one of "
                f"Couler's handles and Python's values nor named by the program.{hint}",
            )
        self.visit(node.value)

    def _is_known(self, name: str) -> bool:
        """Return whether an attribute is one of Couler's or Python's values, or the program's."""
        known = self.bindings.declared | METHODS | HANDLES
        return name in known or name.removeprefix("best_") in self.bindings.declared

    def check_member(self, node: ast.AST, module: str, name: str) -> None:
        """Refuse what a module has and a program must not take."""
        known = MODULES.get(module, frozenset())
        if name in known or f"{module}.{name}" in MODULES or module not in MODULES:
            return  # that of an unknown module is refused where it is imported
        self.refuse(*self.about_member(module, name, node, known))

    def check_bound(self, node: ast.AST, name: str) -> None:
        """Refuse to give a meaning to names of Python, and a second one to imports."""
        if name.startswith("__"):
            self.refuse(NAME, node, f"{name} has a meaning for Python: use another name")
        elif self.bindings.is_imported(name):
            self.refuse(BINDING, node, f"{name} is imported: give this another name")


__all__ = ["check_program"]
