"""Steps, conditions and what steps read, in words that need no names of steps."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable

from couler.evaluation.aspects import Aspects, kind_of
from couler.evaluation.expressions import (
    Before,
    Comparison,
    Each,
    Expression,
    Fact,
    Given,
    Known,
    Made,
    Part,
    Several,
    Test,
    inside,
    written,
)
from couler.evaluation.flow import Flow, FlowNode
from couler.ir.values import Literal
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Container, Parameter, Script, Workflow

_PLAIN = Aspects(frozenset())
_MOST_TEXT = 80

NOTHING = "waits for nothing"
"""The connections of a step that has none."""


def step_text(flow: Flow, number: int) -> str:
    """Return what a node is, with its name and what it runs."""
    node = flow.nodes[number]
    if node.kind != "step":
        return f'{node.kind} "{node.name}"'
    text = f'{kind_of(node.step, _PLAIN)} "{node.name}"'
    action = node.step.action
    if isinstance(action, Container):
        words = " ".join(written_text(node.resolve(w)) for w in (*action.command, *action.args))
        text += f" (image {action.image}{f', {_cut(words)}' if words else ''})"
    elif isinstance(action, Script) and action.function is None:
        text += f" (image {action.image})"
    if node.handler is not None:
        text += f" after a run that ends in {node.handler}"
    return text


def written_text(value: Expression) -> str:
    """Return an expression in words."""
    match value:
        case Known(known):
            return written(known)
        case Given(name):
            return f"<{name}>"
        case Made():
            return "<a result>"
        case Part(whole):
            return written_text(whole)
        case Each():
            return "<the item>"
        case Before():
            return "<the round before>"
        case Fact(name):
            return f"<{name} of the run>"
        case Several(how, parts):
            return ("" if how == "text" else ", ").join(map(written_text, parts))
    t.assert_never(value)


def test_text(test: Test | None) -> str:
    """Return a condition in words; nothing for none."""
    if test is None:
        return ""
    if isinstance(test, Comparison):
        return f"{written_text(test.left)} {test.op} {written_text(test.right)}"
    parts = sorted(test_text(part) for part in test.parts)
    return f" {test.how} ".join(part if " or " not in part else f"({part})" for part in parts)


def loop_text(node: FlowNode) -> str:
    """Return how long a loop goes on."""
    rounds = node.step.loop.max_iterations if node.step.loop else 0
    return f"goes on while {test_text(node.again)}, for at most {rounds} rounds"


def connections(flow: Flow, number: int) -> str:
    """Return what a node waits for and reads."""
    node = flow.nodes[number]
    given = [*(("", read.value) for read in node.reads), *node.arguments.items()]
    read = {
        f"{_read_text(flow, one)}{f' as {name}' if name else ''}"
        for name, value in given
        for one in _parts_read(value)
    }
    made = {part.node for one in node.given for part in inside(one) if isinstance(part, Made)}
    awaited = {f'"{flow.nodes[one].name}"' for one in node.awaits - made}
    told = []
    if read:
        told.append(f"reads {_and(read)}")
    if awaited:
        told.append(f"waits for {_and(awaited)}")
    for on, nodes in sorted(node.reacts, key=repr):
        names = {f'"{flow.nodes[one].name}"' for one in nodes}
        told.append(f"waits for {on} of {_and(names)}")
    return " and ".join(told) or NOTHING


def _parts_read(value: Expression) -> tuple[Expression, ...]:
    """Return what of a value is no constant; alternatives are one."""
    match value:
        case Known():
            return ()
        case Several(how="text" | "list", parts=parts):
            return tuple(one for part in parts for one in _parts_read(part))
        case _:
            return (value,)


def _read_text(flow: Flow, value: Expression) -> str:
    match value:
        case Made(node, path):
            return f'"{".".join((flow.nodes[node].name, *map(str, path)))}"'
        case Part(whole, path):
            return ".".join((_read_text(flow, whole), *map(str, path)))
        case Before(initial=initial) if initial is not None:
            return f"<the round before, at first {_read_text(flow, initial)}>"
        case Several(how="first_of", parts=parts):
            return f"the first of {' and '.join(_read_text(flow, part) for part in parts)}"
        case _:
            return written_text(value)


def longest_chain(flow: Flow) -> int:
    """Return how many steps there are at most of which each waits for the one before."""
    lengths: dict[int, int] = {}
    pending = [number for number, node in enumerate(flow.nodes) if node.kind == "step"]
    while pending:
        before = flow.nodes[pending[-1]].awaits
        missing = [one for one in before if one not in lengths]
        if missing:
            pending += missing
            continue
        number = pending.pop()
        lengths[number] = 1 + max((lengths[one] for one in before), default=0)
    return max(lengths.values(), default=0)


def lists(workflow: Workflow) -> dict[str, int | None]:
    """Return the steps that are mapped, each with its number of items; None if not known."""
    found: dict[str, int | None] = {}
    for path, step in steps_by_path(workflow):
        if step.foreach is not None:
            known = [
                len(items.value)
                for items in step.foreach.over.values()
                if isinstance(items, Literal) and isinstance(items.value, tuple)
            ]
            found[path] = known[0] if known else None
    return found


def default_text(parameter: Parameter) -> str:
    """Return the default of a parameter, for messages."""
    return "none" if parameter.required else repr(parameter.default)


def listed(fact: object) -> str:
    """Return what counts of a workflow, for messages."""
    if fact is None:
        return "none"
    if isinstance(fact, tuple | frozenset):
        return ", ".join(sorted(map(str, fact)))
    return str(fact)


def _and(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else f"{line[:_MOST_TEXT]}..."
