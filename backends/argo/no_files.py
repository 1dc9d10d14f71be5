"""A folder without files: what stands for the files of a foreach when its list is empty."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from couler.backends.argo.expressions import tag
from couler.backends.argo.pods import Tree
from couler.backends.argo.scope import ScopeView
from couler.ir.ranges import is_known, known_items
from couler.ir.values import ParamRef, StepRef, Text

_NOTHING = "couler-nothing"
"""Input of the template of a scope."""

_EMPTY_ZIP = "PK\x05\x06" + 18 * "\0"
"""The one archive that is text in UTF-8, as an artifact in the manifest has to be."""


def can_be_empty(value: Text | None, view: ScopeView, given: AbstractSet[str]) -> bool:
    """Return whether the folder that a reader is given can be one without files."""
    if isinstance(value, ParamRef):
        return value.name in given
    if not isinstance(value, StepRef) or value.step not in view.steps:
        return False
    foreach = view.steps[value.step].foreach
    if foreach is None:
        return False
    return not all(is_known(items) and known_items(items) for items in foreach.over.values())


def instead(name: str, condition: str) -> Tree:
    """Return the argument for an input of files, which Argo leaves out where there are any."""
    wanted = tag(f"{condition} ? 'inputs.artifacts.{_NOTHING}' : 'none'")
    return {"name": name, "optional": True, "from": wanted}


def inputs(tasks: Iterable[Tree]) -> Tree:
    """Return the input artifacts of the template of a scope, where tasks of it need that."""
    arguments = (task.get("arguments") or {} for task in tasks)
    if not any("from" in given for one in arguments for given in one.get("artifacts") or ()):
        return {}
    nothing = {"name": _NOTHING, "raw": {"data": _EMPTY_ZIP}, "archive": {"zip": {}}}
    return {"artifacts": [nothing]}
