"""The API card: what the library has, in a line each, and how each of it is used."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import typing as t

import couler
from couler.dsl.step_options import StepOptions
from couler.generation.lake import Snippet
from couler.steps.registry import doctest_code, get_step, step_names

CORE = (
    *("step", "Workflow", "run_container", "run_script", "map", "loop", "when", "first_of"),
    *("text", "File", "Directory"),
)
"""Names that the card tells all parameters of."""

OTHERS = (
    *("run_job", "http", "suspend", "or_else", "sequence", "group", "failure", "completion"),
    *("any_of", "list_files", "S3Artifact", "GitArtifact", "Dataset", "Retry", "Gpu", "Cache"),
    *("Schedule", "Parameter", "StepDefaults", "Toleration", "Mutex", "Semaphore", "add_volume"),
    *("Volume", "VolumeMount", "obtain_secret"),
)
"""Names whose further parameters are in the examples that a description needs."""

_OF_THE_ANCESTOR = frozenset(
    {"pool", "enable_ulogfs", "step_name", "namespace", "dry_run", "parallelism", "is_global"}
)
"""Parameters that stand for nothing, or that have a better name."""


@functools.cache
def api_card() -> str:
    """Return the card: a line for each name, step of the zoo and option."""
    lines = [_line(f"couler.{name}", getattr(couler, name), full=True) for name in CORE]
    lines += [_line(f"couler.{name}", getattr(couler, name)) for name in OTHERS]
    lines += [f"{_zoo_name(name)}(...): {get_step(name).summary}" for name in step_names()]
    options = [name for name in StepOptions.__annotations__ if name not in _OF_THE_ANCESTOR]
    lines.append(f"OPTIONS: name, {', '.join(options)}")
    return "\n".join(lines)


@functools.cache
def api_snippets() -> tuple[Snippet, ...]:
    """Return what shows the use of single names, with all their parameters."""
    things = {f"couler.{name}": getattr(couler, name) for name in (*CORE, *OTHERS)}
    things |= {_zoo_name(name): get_step(name).fn for name in step_names()}
    found = []
    for name, thing in things.items():
        told = inspect.getdoc(thing) or ""
        if example := _program(doctest_code(told.partition("Examples\n--------\n")[2])):
            code = f"# {name}{_signature(thing, full=True)}\n{example}"
            found.append(Snippet(name, told.partition("\n")[0], code))
    return tuple(found)


def _zoo_name(name: str) -> str:
    return f"couler.steps.{name}"


def _line(name: str, thing: t.Any, *, full: bool = False) -> str:
    summary = (inspect.getdoc(thing) or "").partition("\n")[0]
    return f"{name}{_signature(thing, full=full)}: {summary}"


def _program(code: str) -> str:
    """Return an example without what it only shows."""
    lines = code.split("\n")
    kept = [
        "\n".join(lines[min([node.lineno, *_decorated(node)]) - 1 : node.end_lineno])
        for node in ast.parse(code).body
        if not isinstance(node, ast.Expr)
    ]
    return "\n".join(kept)


def _decorated(node: ast.stmt) -> list[int]:
    return [one.lineno for one in getattr(node, "decorator_list", ())]


def _signature(thing: t.Any, *, full: bool) -> str:
    """Return the parameters of something that is called; those by name alone if it is full."""
    try:
        parameters = inspect.signature(thing).parameters.values()
    except ValueError:  # a built-in constructor, as that of File
        return "(path)"
    takes_options = any(_is_options(one) for one in parameters)
    left_out = _OF_THE_ANCESTOR | (StepOptions.__annotations__.keys() if takes_options else set())
    shown: list[str] = []
    for parameter in parameters:
        if parameter.name in left_out:
            continue
        if parameter.kind is parameter.KEYWORD_ONLY:
            mark = "*" if full else "..."
            if mark not in shown and not (full and any(one[0] == "*" for one in shown)):
                shown.append(mark)
            if not full:
                continue
        shown.append(_shown(parameter))
    return f"({', '.join(shown)})"


def _shown(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case parameter.VAR_POSITIONAL:
            return f"*{parameter.name}"
        case parameter.VAR_KEYWORD:
            return "**OPTIONS" if _is_options(parameter) else f"**{parameter.name}"
    if choices := re.search(r"Literal\[(.*?)\]", str(parameter.annotation)):
        return f"{parameter.name}={choices[1].replace(', ', '|')}"
    says_nothing = parameter.default is parameter.empty or parameter.default in (None, (), "")
    says_nothing |= parameter.default is False
    return parameter.name if says_nothing else f"{parameter.name}={parameter.default!r}"


def _is_options(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.VAR_KEYWORD and "options" in parameter.name
