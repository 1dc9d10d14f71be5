"""What changed between two workflows, as data: by the path of each step."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass

from couler.ir.walk import steps_by_path
from couler.ir.workflow import Group, Step, Workflow


@dataclass(frozen=True, slots=True)
class Added:
    """A step that was not there."""

    step: str


@dataclass(frozen=True, slots=True)
class Removed:
    """A step that is no longer there."""

    step: str


@dataclass(frozen=True, slots=True)
class Changed:
    """A step, or with None the workflow itself, with other values in some fields."""

    step: str | None
    fields: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moved:
    """A step under another path, with the fields that changed on the way."""

    step: str
    to: str
    fields: tuple[str, ...] = ()


Change: t.TypeAlias = Added | Removed | Changed | Moved

# What a step holds inside is told by the paths inside; who made it is not a change of it.
_NOT_COMPARED = frozenset({"name", "action", "origin"})
_SCOPES = frozenset({"steps", "exit_handlers"})


def diff(
    before: Workflow, after: Workflow, derived: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[Change, ...]:
    """Return what changed, in the order of the workflow after, removed steps last."""
    if before is after:
        return ()
    old, new = dict(steps_by_path(before)), dict(steps_by_path(after))
    moves = _moves(old, new, derived or {})
    changes: list[Change] = []
    own = _changed_fields(before, after, _SCOPES)
    if own:
        changes.append(Changed(None, own))
    for path, step in new.items():
        if path in moves:
            source = moves[path]
            changes.append(Moved(source, path, _changed_step_fields(old[source], step)))
        elif path not in old:
            changes.append(Added(path))
        elif fields := _changed_step_fields(old[path], step):
            changes.append(Changed(path, fields))
    gone = old.keys() - new.keys() - set(moves.values())
    changes.extend(Removed(path) for path in old if path in gone)
    return tuple(changes)


def path_of(change: Change) -> str | None:
    """Return the path of the step that changed, after the change if it is still there."""
    return change.to if isinstance(change, Moved) else change.step


def change_to_json(change: Change) -> dict[str, t.Any]:
    """Return a change as JSON, with its `kind`."""
    return {"kind": type(change).__name__.lower(), **asdict(change)}


def _moves(
    old: Mapping[str, Step], new: Mapping[str, Step], derived: Mapping[str, tuple[str, ...]]
) -> dict[str, str]:
    """Return for each moved step of `new` the path that it had in `old`."""
    came = [path for path in new if path not in old]
    gone = dict.fromkeys(path for path in old if path not in new)
    below = {(above, path.rpartition("/")[2]) for path in came for above in _above(path)}
    moves: dict[str, str] = {}
    for path in came:
        sources = derived.get(path, ())
        if len(sources) != 1 or sources[0] not in gone:
            continue
        if (path, sources[0].rpartition("/")[2]) in below:
            continue  # a group around the step, which has moved into it
        moves[path] = sources[0]
        del gone[sources[0]]
    free = [path for path in came if path not in derived]
    while True:
        found = _same_name(free, gone) | _with_their_group(free, gone, moves)
        if not found:
            return moves
        for path, source in found.items():
            if source in gone:
                moves[path] = source
                del gone[source]
        free = [path for path in free if path not in moves]


def _same_name(came: Iterable[str], gone: Iterable[str]) -> dict[str, str]:
    """Return the steps whose name is that of one step that is gone, and of no other."""
    one, other = _only_of_their_name(came), _only_of_their_name(gone)
    return {path: other[name] for name, path in one.items() if name in other}


def _with_their_group(
    came: Iterable[str], gone: Mapping[str, None], moves: Mapping[str, str]
) -> dict[str, str]:
    """Return the steps of groups that have moved."""
    found: dict[str, str] = {}
    moved = dict(moves)
    for path in came:  # outer steps before inner ones
        group, _, name = path.rpartition("/")
        source = f"{moved[group]}/{name}" if group in moved else ""
        if source in gone:
            found[path] = moved[path] = source
    return found


def _only_of_their_name(paths: Iterable[str]) -> dict[str, str]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path.rpartition("/")[2], []).append(path)
    return {name: same[0] for name, same in found.items() if len(same) == 1}


def _above(path: str) -> Iterator[str]:
    """Yield the paths of the groups around a step, the innermost first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _changed_step_fields(before: Step, after: Step) -> tuple[str, ...]:
    if before is after:
        return ()
    fields = _changed_fields(before, after, _NOT_COMPARED)
    one, two = before.action, after.action
    if isinstance(one, Group) and isinstance(two, Group):
        same = one.transparent == two.transparent
    else:
        same = one == two
    return fields if same else ("action", *fields)


def _changed_fields(
    before: Step | Workflow, after: Step | Workflow, leave_out: frozenset[str]
) -> tuple[str, ...]:
    names = (name for name in type(before).model_fields if name not in leave_out)
    return tuple(name for name in names if getattr(before, name) != getattr(after, name))
