"""Where the files of a scope are kept, and the empty folder that stands for no files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet

from couler.backends.argo.pods import Tree
from couler.backends.argo.scope import ScopeView
from couler.backends.argo.tags import Tagged, quote, tag, variable
from couler.ir.values import ParamRef, StepRef, Text
from couler.ir.wire import is_file
from couler.ir.workflow import Group, Step

AT = "couler_at"
"""Input of a template: the location below which its files are kept."""

INDEX = "couler_i"
"""Input of a template under a foreach, and key of an item: the position of the item."""


def is_location(view: ScopeView, value: StepRef) -> bool:
    """Return whether a reference is to a file whose place follows from the names alone."""
    producer = view.steps.get(value.step)
    if producer is None or producer.foreach is not None or producer.loop is not None:
        return False
    output = view.output(value)
    return is_file(output.type) and output.value is None


def location_of(view: ScopeView, below: str, value: StepRef) -> Tagged:
    """Return where a run puts a file that a process of a scope keeps, with tags in it."""
    if view.owner is not None and is_item_wrapper(view.owner):
        index = variable(f"inputs.parameters.{INDEX}")
        return Tagged(f"{below}/{value.output}/{index}")
    return Tagged(f"{below}/{value.step}/{value.output}")


def location_expression(location: str, term: Callable[[Sequence[str]], str]) -> str:
    """Return an expression for a location, which holds tags of its own."""
    parts: list[str] = []
    rest = location
    while rest:
        before, opening, behind = rest.partition("{{")
        if before:
            parts.append(quote(before))
        if not opening:
            break
        inner, _, rest = behind.partition("}}")
        parts.append(term(inner.split(".")))
    return "(" + " + ".join(parts) + ")"


def keeps_files(step: Step) -> bool:
    """Return whether a process inside of a group keeps a file."""
    if not isinstance(step.action, Group):
        return False
    return any(
        keeps_files(inner)
        or any(is_file(output.type) and output.value is None for output in inner.outputs)
        for inner in step.action.steps
    )


def is_item_wrapper(step: Step) -> bool:
    """Return whether a step is the group that `lower` makes around the one step of a foreach."""
    return (
        step.foreach is not None
        and isinstance(step.action, Group)
        and step.action.transparent
        and len(step.action.steps) == 1
    )


_NOTHING = "couler-nothing"
"""Input of the template of a scope."""

_EMPTY_ZIP = "PK\x05\x06" + 18 * "\0"
"""The one archive that is text in UTF-8, as an artifact in the manifest has to be."""


def can_be_empty(value: Text | None, view: ScopeView, given: AbstractSet[str]) -> bool:
    """Return whether the folder that a reader is given can be one without files."""
    from couler.ir.ranges import is_known, known_items

    if isinstance(value, ParamRef):
        return value.name in given
    if not isinstance(value, StepRef) or value.step not in view.steps:
        return False
    foreach = view.steps[value.step].foreach
    if foreach is None:
        return False
    return not all(is_known(items) and known_items(items) for items in foreach.over.values())


def empty_folder_argument(name: str, condition: str) -> Tree:
    """Return the argument for an input of files, which Argo leaves out where there are any."""
    wanted = tag(f"{condition} ? 'inputs.artifacts.{_NOTHING}' : 'none'")
    return {"name": name, "optional": True, "from": wanted}


def empty_folder_input(tasks: Iterable[Tree]) -> Tree:
    """Return the input artifacts of the template of a scope, where tasks of it need that."""
    arguments = (task.get("arguments") or {} for task in tasks)
    if not any("from" in given for one in arguments for given in one.get("artifacts") or ()):
        return {}
    nothing = {"name": _NOTHING, "raw": {"data": _EMPTY_ZIP}, "archive": {"zip": {}}}
    return {"artifacts": [nothing]}
