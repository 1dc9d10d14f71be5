"""Names that a step is known to have: of its outputs, and of keys in what its function returns."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from functools import lru_cache

from benchmarks.nl.reading import place_in_work
from couler.ir.walk import all_steps
from couler.ir.workflow import STDOUT, Container, Output, Script, Step, Suspend, Workflow


def output_names(step: Step) -> frozenset[str] | None:
    """Return the names that a step has for what it gives; None if they are not for it to choose."""
    match step.action:
        case Script(function=str() as function, source=source):
            outputs = frozenset(output.name for output in step.outputs) - {STDOUT}
            return outputs or _keys_in(source, function)
        case Suspend():
            return frozenset(output.name for output in step.outputs)
        case _:
            return None


def all_names(workflow: Workflow) -> frozenset[str]:
    """Return the names that all steps of a workflow have."""
    return frozenset().union(*(output_names(step) or () for step in all_steps(workflow)))


def maker_of(step: Step) -> Hashable:
    """Return the function that a step calls, None if it calls none."""
    match step.action:
        case Script(function=str() as function, source=source):
            return function, source
        case _:
            return None


def output_place(step: Step, path: tuple[str | int, ...]) -> tuple[Hashable, ...]:
    """Return what tells an output of a process from others: the place of a file, a filter."""
    named = {output.name: output for output in step.outputs}
    name = path[0] if path and path[0] in named else STDOUT
    rest = path[1:] if path and path[0] in named else path
    return (*_where(step, named.get(str(name))), *rest)


def _where(step: Step, output: Output | None) -> tuple[Hashable, ...]:
    if output is None:
        return ()
    if isinstance(step.action, Container | Script):
        return () if output.path is None else ("file", place_in_work(output.path))
    return (output.name, output.json_path, output.jq)


@lru_cache(maxsize=1024)
def _keys_in(source: str, function: str) -> frozenset[str]:
    """Return the keys that a function gives to what it makes."""
    found: set[str] = set()
    for top in ast.walk(ast.parse(source)):
        if not isinstance(top, ast.FunctionDef) or top.name != function:
            continue
        for node in ast.walk(top):
            match node:
                case ast.Dict(keys=keys):
                    texts = (one.value for one in keys if isinstance(one, ast.Constant))
                    found |= {text for text in texts if isinstance(text, str)}
                case ast.Subscript(ctx=ast.Store(), slice=ast.Constant(value=str(text))):
                    found.add(text)
                case ast.keyword(arg=str(name)):
                    found.add(name)
    return frozenset(found)
