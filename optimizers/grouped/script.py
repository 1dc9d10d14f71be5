"""The script of a group: the runner as it stands in its modules, and the steps as a literal."""

from __future__ import annotations

import ast
import functools
import inspect
import typing as t
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

from couler.ir.grouped import DEFINITION
from couler.optimizers.grouped import run_attempts, run_group, run_values

__all__ = ["literal", "script_of"]

_MODULES = (run_values, run_attempts, run_group)
_OWN = "couler."
_WIDTH = 100
_READ_BY_ENGINES = (("{{", "{\\u007b"), ("$", "\\u0024"))
"""What engines read in texts, and how a literal of Python writes it."""


def script_of(group: Mapping[str, t.Any], title: str) -> str:
    """Return a script of the standard library alone that runs a group."""
    return (
        f"# {title}\nfrom __future__ import annotations\n\n{_runner()}\n\n"
        f"{DEFINITION} = {literal(group)}\n\nraise SystemExit(run_group({DEFINITION}))\n"
    )


def literal(value: object, indent: int = 0) -> str:
    r"""Return a JSON value as a literal of Python, over several lines where one is too short."""
    inner = " " * (indent + 1)
    if isinstance(value, str):
        lines = value.splitlines(keepends=True)
        if len(lines) < 2:
            return _text(value)
        return "(\n" + "".join(f"{inner}{_text(line)}\n" for line in lines) + " " * indent + ")"
    if isinstance(value, Mapping):
        entries = [f"{_text(key)}: {literal(one, indent + 1)}" for key, one in value.items()]
        return _laid_out("{", entries, "}", indent)
    if isinstance(value, list | tuple):
        entries = [literal(one, indent + 1) for one in value]
        return _laid_out("[", entries, "]", indent)
    return repr(value)


def _laid_out(start: str, entries: Sequence[str], end: str, indent: int) -> str:
    flat = start + ", ".join(entries) + end
    if len(flat) + indent < _WIDTH and "\n" not in flat:
        return flat
    inner = " " * (indent + 1)
    return f"{start}\n" + "".join(f"{inner}{one},\n" for one in entries) + " " * indent + end


def _text(text: str) -> str:
    written = repr(text)
    for read, kept in _READ_BY_ENGINES:
        written = written.replace(read, kept)
    return written


@functools.cache
def _runner() -> str:
    """Return what the modules of the runner define, their imports first."""
    imports = sorted({line for module in _MODULES for line in _imports(module)}, key=_import_order)
    return "\n".join([*imports, "", "", "\n\n".join(map(_definitions, _MODULES))])


def _import_order(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line


def _imports(module: ModuleType) -> Iterator[str]:
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith((_OWN, "__")):
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield ast.unparse(node)


def _definitions(module: ModuleType) -> str:
    """Return a module's text from its first definition on, without docstrings."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    tree = ast.parse(source)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            body = node.body
            for index, one in enumerate(body):
                if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant):
                    left_out.update(range(one.lineno, (one.end_lineno or 0) + 1))
                    if len(body) == 1:
                        lines[one.lineno - 1] = " " * one.col_offset + "pass"
                        left_out.discard(one.lineno)
                    elif index == 0 and not lines[one.end_lineno or 0].strip():
                        left_out.add((one.end_lineno or 0) + 1)
    first = next(
        node.lineno for node in tree.body[1:] if not isinstance(node, ast.Import | ast.ImportFrom)
    )
    kept = [line for at, line in enumerate(lines, 1) if at >= first and at not in left_out]
    return "\n".join(kept).strip("\n")
