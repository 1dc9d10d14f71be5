"""Calls, texts and numbers: what is refused where a value would reach further, or grow huge."""

from __future__ import annotations

import ast
import re
import string

from couler.box.bindings import Bindings
from couler.box.text_checks import MOST_DIGITS, MOST_REPEATED
from couler.box.words import ANNOTATIONS

CALL, TEMPLATE, NUMBER, HANDING_OVER = "CLR605", "CLR608", "CLR609", "CLR610"

_SEQUENCES = (ast.List, ast.Tuple, ast.JoinedStr, ast.ListComp)
_MOST_EXPONENT = 64


class CallRules(ast.NodeVisitor):
    """Visits calls and what computes."""

    bindings: Bindings

    def refuse(self, code: str, node: ast.AST, message: str) -> None:
        """Keep a reason, at the line of a node."""
        raise NotImplementedError

    def check_type(self, node: ast.expr | None) -> None:
        """Refuse an annotation that is no type."""
        raise NotImplementedError

    def visit_Call(self, node: ast.Call) -> None:
        """Look at what is called, and at what it is given."""
        member = self.bindings.member_of(node.func)
        given: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if member is not None and member[0] == "typing":
            self.refuse(
                CALL, node, f"{member[1]} stands in annotations and before the fields of a class, "
                "and is not called",
            )  # fmt: skip
        elif member is not None and member[0] in ("couler", "couler.argo") and member[1] == "run":
            self._check_run(node, given)
        elif isinstance(node.func, ast.Attribute) and node.func.attr == "run" and member is None:
            self._check_run(node, given)
            self.visit(node.func.value)
        elif isinstance(node.func, ast.Attribute) and self._is_template(node.func):
            self._check_template(node)
        else:
            self.visit(node.func)
        for one in given:
            self.visit(one)

    def _check_run(self, node: ast.Call, given: list[ast.expr | ast.keyword]) -> None:
        if given:
            self.refuse(
                HANDING_OVER,
                node,
                "a generated program hands nothing over: write run() without arguments or leave it "
                "out, and use `couler run` or `couler submit`",
            )

    @staticmethod
    def _is_template(node: ast.Attribute) -> bool:
        value = node.value
        is_text = isinstance(value, ast.Constant) and isinstance(value.value, str)
        return node.attr == "format" and is_text

    def _check_template(self, node: ast.Call) -> None:
        assert isinstance(node.func, ast.Attribute)
        assert isinstance(node.func.value, ast.Constant)
        problem = problem_of_format(str(node.func.value.value))
        if problem is not None:
            self.refuse(TEMPLATE, node, f"{problem}: write the value itself into the hole")

    def visit_keyword(self, node: ast.keyword) -> None:
        """Refuse names that only Python itself gives."""
        if node.arg is not None and node.arg.startswith("__"):
            self.refuse(CALL, node, f"{node.arg} has a meaning for Python: use another name")
        self.visit(node.value)

    def visit_FormattedValue(self, node: ast.FormattedValue) -> None:
        """Allow short, plain formats."""
        spec = node.format_spec
        if spec is not None:
            assert isinstance(spec, ast.JoinedStr)
            parts = [one.value if isinstance(one, ast.Constant) else "{}" for one in spec.values]
            problem = problem_of_spec("".join(map(str, parts)))
            if problem is not None:
                self.refuse(TEMPLATE, node, f"{problem}: write it out")
        self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Refuse very large numbers."""
        value = node.value
        if isinstance(value, int) and abs(value) >= 10**MOST_DIGITS:
            message = f"the number has more than {MOST_DIGITS} digits: write it as text"
            self.refuse(NUMBER, node, message)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Look at what stands in brackets; behind a type it is a type as well."""
        member = self.bindings.member_of(node.value)
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        is_builtin = name in ANNOTATIONS and not self.bindings.is_bound(name)
        if is_builtin or (member is not None and member[0] in ("typing", "collections.abc")):
            self.check_type(node)
            return
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Refuse what makes huge values of small ones."""
        problem = _problem_of(node)
        if problem is not None:
            code, message = problem
            self.refuse(code, node, message)
        self.generic_visit(node)


def _problem_of(node: ast.BinOp) -> tuple[str, str] | None:
    left, right = node.left, node.right
    if isinstance(node.op, ast.Mod) and isinstance(left, ast.Constant):
        found = problem_of_percent(left.value) if isinstance(left.value, str) else None
        return None if found is None else (TEMPLATE, f"{found}: write it out")
    if isinstance(node.op, ast.Pow) and not _is_small_power(left, right):
        return NUMBER, f"the power `{ast.unparse(node):.40}` may be huge: write the number"
    if isinstance(node.op, ast.LShift) and (_number(left) is not None or _number(right)):
        return NUMBER, "numbers are shifted by `<<`, which may make a huge one: write the number"
    if isinstance(node.op, ast.Mult):
        for one, other in ((left, right), (right, left)):
            if _is_sequence(one) and not _is_small(other):
                text = (
                    f"a text or list is repeated by `{ast.unparse(other):.40}`, which must be a "
                    f"number up to {MOST_REPEATED:,}"
                )
                return NUMBER, text
    return None


def _number(node: ast.expr) -> int | float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, int | float) else None


def _is_small(node: ast.expr) -> bool:
    value = _number(node)
    return value is not None and value <= MOST_REPEATED


def _is_sequence(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _is_sequence(node.left) or _is_sequence(node.right)
    return isinstance(node, _SEQUENCES)


def _is_small_power(base: ast.expr, exponent: ast.expr) -> bool:
    """Allow 2 ** 10, 10 ** -3 and 10 ** name, where the number is of a few digits."""
    number, power = _number(base), _number(exponent)
    if power is not None:
        return abs(power) <= _MOST_EXPONENT
    if number is None or abs(number) > 1000:
        return False
    nested = (one for one in ast.walk(exponent) if isinstance(one, ast.BinOp))
    return not any(isinstance(one.op, ast.Pow | ast.Mult | ast.LShift) for one in nested)


_PLAIN = re.compile(r"[A-Za-z0-9_]*", re.ASCII)
_WIDE = re.compile(r"\d{4,}")
_PERCENT = re.compile(r"%(?:\(\w*\))?[-#0 +]*(?:\*|[1-9]\d*)?(?:\.(?:\*|\d*))?[a-zA-Z%]")
"""A zero at the beginning is a flag, and no part of a width: so there is one way to read it."""


def problem_of_format(template: str) -> str | None:
    """Return what is wrong with a template of `str.format`, None if all its holes are plain."""
    try:
        fields = list(string.Formatter().parse(template))
    except ValueError as error:
        return f"the template cannot be read: {error}"
    for _, name, spec, _ in fields:
        if name is not None and (not _PLAIN.fullmatch(name) or name.startswith("_")):
            return f"the hole {{{name}}} reaches into its value"
        if spec and problem_of_spec(spec):
            return problem_of_spec(spec)
    return None


def problem_of_spec(spec: str) -> str | None:
    """Return what is wrong with how a value is formatted, None if it is short and plain."""
    if "{" in spec:
        return "the format is put together from values"
    return f'the format "{spec:.20}" asks for a very long text' if _WIDE.search(spec) else None


def problem_of_percent(template: str) -> str | None:
    """Return what is wrong with the text on the left of `%`, None if it is short and plain."""
    for found in _PERCENT.findall(template):
        if "*" in found or _WIDE.search(found):
            return f'the format "{found:.20}" asks for a very long text'
    return None
