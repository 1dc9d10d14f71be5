"""The gate: which syntax, forms and types a program may have to be built. It runs nothing of it."""

from __future__ import annotations

import ast
import difflib
import typing as t
from collections.abc import Iterable

from couler.box.bindings import Bindings
from couler.box.calls import CallRules
from couler.box.text_checks import RefusedTextError, parse
from couler.box.words import (
    ACTS,
    ANNOTATIONS,
    BUILTINS,
    HANDLES,
    METHODS,
    MODULES,
    REFUSED,
    SETTABLE,
)
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef

IMPORT, FORM, HANDING_OVER = "CLR603", "CLR607", "CLR610"

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


SYNTAX, NAME, ATTRIBUTE = "CLR604", "CLR605", "CLR606"
BINDING, ANNOTATION = "CLR611", "CLR612"


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


_MOST_CHARACTERS = 500


class TypeProblem(t.NamedTuple):
    """A part of an annotation that is no type."""

    line: int
    message: str


def type_problem(
    node: ast.expr,
    bindings: Bindings,
    line: int | None = None,
    within: frozenset[str] = frozenset(),
) -> TypeProblem | None:
    """Return the first part of an annotation that is no type, None if all are."""
    here = line or node.lineno

    def inner(part: ast.expr) -> TypeProblem | None:
        return type_problem(part, bindings, line, within)

    match node:
        case ast.Constant(value=str(text)):
            return _of_text(text, bindings, here, within)
        case ast.Constant() if node.value is None or node.value is ...:
            return None
        case ast.Name():
            return _of_name(node.id, bindings, here, within)
        case ast.Attribute():
            member = bindings.member_of(node)
            if member is not None and member[1] in MODULES.get(member[0], ()):
                return None
        case ast.Subscript():
            return inner(node.value) or _of_arguments(node, bindings, here, inner)
        case ast.BinOp(op=ast.BitOr()):
            return inner(node.left) or inner(node.right)
        case ast.List() | ast.Tuple():
            return next(filter(None, map(inner, node.elts)), None)
    return TypeProblem(here, f"`{ast.unparse(node):.60}` is no type")


def _of_text(
    text: str, bindings: Bindings, line: int, within: frozenset[str]
) -> TypeProblem | None:
    if len(text) > _MOST_CHARACTERS:
        return TypeProblem(line, "a text of this length is no type")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return TypeProblem(line, f'"{text:.60}" is no type')
    return type_problem(node, bindings, line, within)


def _of_name(
    name: str, bindings: Bindings, line: int, within: frozenset[str]
) -> TypeProblem | None:
    if name in bindings.members and name not in bindings.others:
        return None
    if name in bindings.classes and len(bindings.others[name]) == 1:
        return None
    if name in ANNOTATIONS and not bindings.is_bound(name):
        return None
    if name in bindings.types:
        return None
    value = bindings.aliases.get(name)
    if value is not None and name not in within:
        problem = type_problem(value, bindings, line, within | {name})
        if problem is None:
            bindings.types.add(name)
        return problem
    return TypeProblem(line, f"{name} is no type that the program imports or defines")


def _of_arguments(
    node: ast.Subscript,
    bindings: Bindings,
    line: int,
    inner: t.Callable[[ast.expr], TypeProblem | None],
) -> TypeProblem | None:
    """Look at what stands in brackets: types, but for values of Literal."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    member = bindings.member_of(node.value)
    if member == ("typing", "Literal"):
        wrong = next((one for one in parts if not isinstance(one, ast.Constant)), None)
        return None if wrong is None else TypeProblem(line, "Literal takes plain values")
    if member == ("typing", "Annotated"):
        rest = next((one for one in parts[1:] if not isinstance(one, ast.Constant)), None)
        if rest is not None:
            return TypeProblem(line, "Annotated takes a type and plain values")
        parts = parts[:1]
    return next(filter(None, map(inner, parts)), None)


STATEMENTS = (
    *(ast.Module, ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Pass),
    *(
        ast.If,
        ast.For,
        ast.While,
        ast.Break,
        ast.Continue,
        ast.With,
        ast.Assert,
        ast.Import,
        ast.ImportFrom,
    ),
    *(ast.FunctionDef, ast.ClassDef),
)
EXPRESSIONS = (
    *(ast.Constant, ast.Name, ast.Attribute, ast.Subscript, ast.Slice, ast.Starred, ast.Call),
    *(ast.List, ast.Tuple, ast.Dict, ast.Set, ast.JoinedStr, ast.FormattedValue, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
    *(ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp),
)
PARTS = (
    *(ast.arguments, ast.arg, ast.keyword, ast.alias, ast.withitem, ast.comprehension),
    *(ast.expr_context, ast.boolop, ast.unaryop, ast.cmpop),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.LShift),
    *(ast.RShift, ast.BitAnd, ast.BitOr),
)
ALLOWED = (*STATEMENTS, *EXPRESSIONS, *PARTS)

_ERRORS = "What can fail, fails in a step: see retry= and couler.failure(...)"
_SCOPE = "Return values, and pass them as arguments"
_ASYNC = "Steps run in parallel by themselves: couler.concurrent and .map(...)"

INSTEAD: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("try", _ERRORS),
    ast.Raise: ("raise", _ERRORS),
    ast.Global: ("global", _SCOPE),
    ast.Nonlocal: ("nonlocal", _SCOPE),
    ast.Delete: ("del", "Leave the name as it is"),
    ast.NamedExpr: ("an assignment inside an expression", "Assign in a line of its own"),
    ast.AsyncFunctionDef: ("async", _ASYNC),
    ast.AsyncFor: ("async", _ASYNC),
    ast.AsyncWith: ("async", _ASYNC),
    ast.Await: ("await", _ASYNC),
    ast.Yield: ("yield", "Return a list"),
    ast.YieldFrom: ("yield", "Return a list"),
    ast.Match: ("match", "Write if and elif"),
    ast.MatMult: ("the operator @", "Compute in a step"),
    ast.BitXor: ("the operator ^", "Write couler.not_equal or another comparison"),
}
if hasattr(ast, "TryStar"):
    INSTEAD[ast.TryStar] = ("try", _ERRORS)
