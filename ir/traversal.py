"""The traversal of the IR: what nodes hold and where, derived from the annotations of fields."""

from __future__ import annotations

import functools
import operator
import sys
import typing as t
from collections.abc import Callable, Collection, Iterable, Iterator

from couler.ir.base import FrozenDict, Node

ScopeName: t.TypeAlias = t.Literal[
    "own", "typed", "facts", "inside", "steps", "hooks", "local", "defaults", "agent"
]
"""Who reads what a field holds: `own` is the step that has it, as text, or the workflow; `typed` is
the step as well, by the type that is declared; `facts` compares facts of the step, such as its
status; `inside` is the scope inside a group, which has `steps`; `agent` is a pod of the engine."""

Part = t.TypeVar("Part")
Held = t.TypeVar("Held", bound=Node)
Key: t.TypeAlias = Callable[[int, t.Any], str]
"""Names an entry of a tuple, given its index and itself."""


class At(t.NamedTuple):
    """Stands beside a field: its name in field paths, and the scope that it belongs to."""

    path: str | None = None
    """None for the name of the field, "" for a field that paths leave out."""
    scope: ScopeName = "own"
    key: Key | None = None
    """None for the names of entries that have one."""
    is_last: bool = False
    """Whether it comes after the fields that stand behind it."""


class Slot(t.NamedTuple):
    """A field that can hold nodes."""

    name: str
    classes: frozenset[type]
    at: At


@functools.cache
def slots(cls: type[Node]) -> tuple[Slot, ...]:
    """Return the fields of a class that can hold nodes."""
    found = []
    for name, info in cls.model_fields.items():
        annotation: t.Any = info.annotation
        notes = info.metadata
        if isinstance(annotation, t.ForwardRef):  # its class stands before what it names
            owner = next(base for base in cls.__mro__ if name in base.__annotations__)
            annotation = eval(annotation.__forward_arg__, vars(sys.modules[owner.__module__]))
            notes = list(getattr(annotation, "__metadata__", ()))
        classes = frozenset(_classes(annotation))
        if any(issubclass(one, Node) for one in classes):
            at = next((note for note in notes if isinstance(note, At)), At())
            found.append(Slot(name, classes, at))
    return tuple(sorted(found, key=lambda slot: slot.at.is_last))


def _classes(annotation: t.Any) -> Iterator[type]:
    if isinstance(annotation, type) and annotation is not type(None):
        yield annotation
    for inner in t.get_args(annotation):
        yield from _classes(inner)


Entry = t.TypeVar("Entry", bound=tuple[t.Any, ...])


class ByFields(dict[frozenset[str], list[Entry]], t.Generic[Entry]):
    """Entries of the fields of a class, each beginning with a name; by the fields that are given.

    Nodes are of few shapes, so what was found for one serves those of the same fields.
    """

    def __init__(self, entries: Iterable[Entry]) -> None:
        self.entries = list(entries)
        self.names = frozenset([entry[0] for entry in self.entries])

    def __missing__(self, given: frozenset[str]) -> list[Entry]:
        self[given] = found = [one for one in self.entries if not one[0] or one[0] in given]
        return found


class _Field(t.NamedTuple):
    """A field that can hold what is looked for."""

    name: str
    path: str
    key: Key | None
    has_texts: bool


class _Plans(dict[type, ByFields[_Field] | None]):
    """The fields of each class that can hold what is looked for; None for a class without any."""

    def __init__(self, kinds: frozenset[type], texts: bool, scopes: Collection[str]) -> None:
        self._kinds, self._texts, self._scopes = kinds, texts, scopes

    def __missing__(self, cls: type) -> ByFields[_Field] | None:
        fields = ByFields(self._fields(cls))
        self[cls] = plan = fields if fields.names else None
        return plan

    def _fields(self, cls: type) -> Iterator[_Field]:
        for slot in self._slots(cls):
            if self._takes(slot) or any(map(self._holds, slot.classes)):
                name, classes, at = slot
                named = all("name" in getattr(one, "model_fields", ()) for one in classes)
                key = at.key or (_name_of if named else None)
                path = name if at.path is None else at.path
                yield _Field(name, path, key, self._has_texts(slot))

    def _slots(self, cls: type) -> list[Slot]:
        found = slots(cls) if issubclass(cls, Node) else ()
        return [slot for slot in found if slot.at.scope in self._scopes]

    def _has_texts(self, slot: Slot) -> bool:
        return self._texts and str in slot.classes and slot.classes <= {str, *self._kinds}

    def _takes(self, slot: Slot) -> bool:
        return self._has_texts(slot) or not slot.classes.isdisjoint(self._kinds)

    def _holds(self, cls: type) -> bool:
        """Whether a node of a class can hold some, however deep: classes hold each other."""
        waiting = [cls]
        for one in waiting:  # which grows
            for slot in self._slots(one):
                if self._takes(slot):
                    return True
                waiting += slot.classes.difference(waiting)
        return False


def _name_of(_index: int, entry: t.Any) -> str:
    return t.cast("str", entry.name)


class Traversal(t.Generic[Part]):
    """Finds and replaces nodes of some classes in other nodes.

    It looks at fields that were given, and of these at such that can hold one of the classes.

    Parameters
    ----------
    kinds
        The classes.
    texts
        Whether plain texts count as well, in fields that take either.
    enters
        The scopes that count besides the step's own.
    inside
        Whether `visit` looks inside of what it has found, too.
    """

    def __init__(
        self,
        *kinds: type,
        texts: bool = False,
        enters: Iterable[ScopeName] = (),
        inside: bool = False,
    ) -> None:
        self._kinds, self._inside = frozenset(kinds), inside
        self._plans = _Plans(self._kinds, texts, {"own", *enters})

    def visit(
        self, node: Node, path: str = "", fields: Collection[str] | None = None
    ) -> list[tuple[str, Part]]:
        """Return what a node, or some of its fields, hold, each with its field path."""
        plan = self._plans[type(node)]
        if plan is None:
            return []
        held = plan[plan.names & node.__pydantic_fields_set__]
        if fields is not None:
            held = [field for field in held if field.name in fields]
        found: list[tuple[str, t.Any]] = []
        self._visit(node, path, found, held)
        return found

    def _visit(
        self, node: Node, path: str, found: list[tuple[str, t.Any]], held: list[_Field]
    ) -> None:
        data = node.__dict__
        for name, label, key, has_texts in held:
            part = data[name]
            kind = type(part)
            here = f"{path}.{label}" if path and label else path or label
            if kind is tuple:
                for index, one in enumerate(part):
                    if type(one) is not str:
                        below = here if key is None else _below(here, key(index, one))
                        self._take(one, below, found)
                    elif has_texts:
                        found.append((here, one))
            elif kind is FrozenDict or kind is dict:  # of a copy
                for at, one in part.items():
                    self._take(one, _below(here, at), found)
            elif kind is not str:
                self._take(part, here, found)
            elif has_texts:
                found.append((here, part))

    def _take(self, one: t.Any, path: str, found: list[tuple[str, t.Any]]) -> None:
        kind = type(one)
        plan = self._plans[kind]
        is_found = kind in self._kinds
        if is_found:
            found.append((path, one))
        if plan is not None and (self._inside or not is_found):
            given = plan[plan.names & one.__pydantic_fields_set__]
            if given:
                self._visit(one, path, found, given)

    def map(self, node: Held, change: Callable[[str, Part], Part], path: str = "") -> Held:
        """Return a node in which `change(path, part)` replaces all that it holds.

        It is the same node if nothing in it is replaced by another.
        """
        data, plan = node.__dict__, self._plans[type(node)]
        update: dict[str, object] = {}
        if plan is None:
            return node

        def take(one: t.Any, here: str, has_texts: bool) -> t.Any:
            kind = type(one)
            if kind in self._kinds or (has_texts and kind is str):
                return change(here, one)
            return one if self._plans[kind] is None else self.map(one, change, here)

        for name, label, key, has_texts in plan[plan.names & node.__pydantic_fields_set__]:
            old = new = data[name]
            here = f"{path}.{label}" if path and label else path or label
            if type(old) is tuple:
                made = tuple(
                    take(one, here if key is None else _below(here, key(index, one)), has_texts)
                    for index, one in enumerate(old)
                )
                new = made if any(map(operator.is_not, made, old)) else old
            elif isinstance(old, dict):
                over = {at: take(one, _below(here, at), False) for at, one in old.items()}
                new = FrozenDict(over) if any(over[at] is not old[at] for at in old) else old
            else:
                new = take(old, here, has_texts)
            if new is not old:
                update[name] = new
        return node.model_copy(update=update) if update else node


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
