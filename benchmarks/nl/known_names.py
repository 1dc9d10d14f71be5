"""Names that a step is known to have: of its outputs, and of keys in what its function returns."""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterator, Mapping
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


def maker_of(step: Step) -> tuple[str, str] | None:
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


def known_texts(step: Step) -> tuple[str, ...] | None:
    """Return all texts that a step in Python returns or prints, None where that is not certain."""
    action = step.action
    if not isinstance(action, Script) or not action.is_python:
        return None
    try:
        nodes = list(ast.walk(ast.parse(action.source)))
    except SyntaxError:
        return None
    if action.function is None:
        given = [node.args for node in nodes if isinstance(node, ast.Call) and _is_print(node)]
    else:
        functions = [one for one in nodes if isinstance(one, ast.FunctionDef)]
        body = next(one for one in functions if one.name == action.function)
        given = [[one.value] for one in ast.walk(body) if isinstance(one, ast.Return) and one.value]
    variables: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            variables.setdefault(node.targets[0].id, []).append(node.value)
    texts = {text for values in given for one in values for text in _texts(one, variables)}
    # A function with one result stands for one that computes it.
    return None if len(texts) < 2 or None in texts else tuple(sorted(map(str, texts)))


def _is_print(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == "print"


def _texts(node: ast.expr, variables: Mapping[str, list[ast.expr]]) -> Iterator[str | None]:
    """Yield the texts that an expression can be, and None if it can be something else."""
    match node:
        case ast.Constant(value=str(text)):
            yield text
        case ast.IfExp(body=body, orelse=other):
            yield from (*_texts(body, variables), *_texts(other, variables))
        case ast.Call(func=ast.Attribute(attr="choice"), args=[ast.List() | ast.Tuple() as chosen]):
            yield from (text for one in chosen.elts for text in _texts(one, variables))
        case ast.Name(id=name) if name in variables:
            rest = {other: found for other, found in variables.items() if other != name}
            yield from (text for one in variables[name] for text in _texts(one, rest))
        case _:
            yield None


def names_read(step: Step) -> frozenset[str]:
    """Return the names that the code of a step's function reads."""
    source = step.action.source if isinstance(step.action, Script) else ""
    nodes = ast.walk(ast.parse(source))
    return frozenset(node.id for node in nodes if isinstance(node, ast.Name))
