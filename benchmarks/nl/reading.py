"""What a step reads, with the places in it where it does."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from benchmarks.nl.expressions import Expression, Made, Several
from couler.ir.values import Text
from couler.ir.walk import step_values
from couler.ir.workflow import WORK_DIR, Container, Input, Script, Step

SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash", "python", "python3")


class Read(t.NamedTuple):
    """What is read, and as what; that is empty where texts of the step say it."""

    role: str
    value: Expression


def reads_of(
    step: Step, resolve: Callable[[Text], Expression]
) -> tuple[tuple[Read, ...], dict[str, Expression]]:
    """Return what a step reads apart from conditions, and its arguments by their names."""
    inputs = {f"inputs.{given.name}": given for given in step.inputs}
    texts = [word for word in words_of(step) if isinstance(word, str)]
    reads, arguments = [], {}
    for place, text in step_values(step):
        given = inputs.get(place)
        if given is not None and step.is_function:
            arguments[given.name] = resolve(text)
        elif given is not None and not _is_named(given, texts):
            reads.append(Read(place_in_work(given.path or given.name), resolve(text)))
        elif not place.startswith(("when", "foreach.", "loop")):
            reads.append(Read(_role(place), resolve(text)))
    return tuple(reads), arguments


def place_in_work(path: str) -> str:
    """Return a path as it is below the folder of a step, if it is."""
    return path.removeprefix(f"{WORK_DIR}/").removeprefix("./")


def _is_named(given: Input, texts: list[str]) -> bool:
    return given.path is not None and any(given.path in text for text in texts)


def words_of(step: Step) -> list[Text]:
    """Return the words that a process is started with; a script is one of them."""
    match step.action:
        case Container(command=command, args=args):
            return [*command, *args]
        case Script(command=command, source=source):
            return [*command, *(("-c",) if {*command[-1:]} & {*SHELLS} else ()), source]
        case _:
            return []


def _role(place: str) -> str:
    kind, _, rest = place.partition(".")
    match kind:
        case "inputs" | "outputs":  # the names of these are free
            return f"{kind}.{rest.partition('.')[2]}" if ".at." in place else ""
        case "command" | "args" | "url" | "body" | "manifest":
            return ""
        case "headers":
            return place.lower()
        case _:
            return place


def with_wholes(
    arguments: Mapping[str, Expression], outputs_of: Callable[[int], frozenset[str]]
) -> dict[str, Expression]:
    """Return arguments with what travels in pieces put together: results with fields, lists."""
    merged = dict(arguments)
    for name, value in arguments.items():
        made = _first_made(value)
        if name not in merged or made is None or len(made.path) != 1:
            continue
        fields = outputs_of(made.node)
        prefix = name.removesuffix(f"_{made.path[0]}")
        parts = {field: arguments.get(f"{prefix}_{field}") for field in fields}
        if len(fields) < 2 or prefix == name or None in parts.values():
            continue
        whole = _whole(t.cast("dict[str, Expression]", parts))
        if whole is not None:
            for field in fields:
                merged.pop(f"{prefix}_{field}", None)
            merged[prefix] = whole
    return _with_lists(merged)


def _with_lists(arguments: dict[str, Expression]) -> dict[str, Expression]:
    """Return arguments with lists whole of which one item at least is a result."""
    for first in [name for name in arguments if name.endswith("_0")]:
        name = first.removesuffix("_0")
        items: list[Expression] = []
        while f"{name}_{len(items)}" in arguments:
            items.append(arguments[f"{name}_{len(items)}"])
        if name not in arguments:
            for number in range(len(items)):
                del arguments[f"{name}_{number}"]
            arguments[name] = Several("list", tuple(items))
    return arguments


def _first_made(value: Expression) -> Made | None:
    while isinstance(value, Several) and value.how == "list" and value.parts:
        value = value.parts[0]
    return value if isinstance(value, Made) else None


def _whole(fields: Mapping[str, Expression]) -> Expression | None:
    """Return that of which some values are the fields, None if they are not of one."""
    values = list(fields.values())
    first = values[0]
    if isinstance(first, Made):
        whole = Made(first.node)
        right = all(value == Made(first.node, (name,)) for name, value in fields.items())
        return whole if right else None
    rows = [value.parts for value in values if isinstance(value, Several) and value.how == "list"]
    if len(rows) < len(values) or len(set(map(len, rows))) != 1:
        return None
    parts = [_whole(dict(zip(fields, row, strict=True))) for row in zip(*rows, strict=True)]
    found = tuple(part for part in parts if part is not None)
    items = first.items if isinstance(first, Several) else ()
    return Several("list", found, items) if len(found) == len(parts) else None
