"""The kinds of syntax that a generated program may use, and what to write in place of others."""

from __future__ import annotations

import ast

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
