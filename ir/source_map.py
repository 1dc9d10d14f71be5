"""The way from the steps of a program to those of a run, where passes have changed them."""

from __future__ import annotations

import itertools
import typing as t
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from couler.ir.walk import PathPart, StepPath, without_places

_LISTED = 3
"""How many steps of the program a label names."""

LEFT_OUT: t.Final = ("skipped", "omitted")
"""Ends of a foreach that none of its items has been reached in."""


class HasStatus(t.Protocol):
    """How an instance of a step stands."""

    @property
    def status(self) -> str:
        """State of the instance."""
        ...


_End = t.TypeVar("_End", bound=HasStatus)


@dataclass(frozen=True)
class SourceMap:
    """Where in a run the steps of a program are that have another place there, or none."""

    steps: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    removed: Mapping[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.steps or self.removed)

    def find(self, text: str) -> tuple[StepPath, ...]:
        """Return where an instance of a step of the program is in the run."""
        try:
            asked = StepPath.parse(text)
        except ValueError:
            return ()
        of = without_places(asked)
        found = (carry(asked, of, StepPath.parse(to)) for to in self.steps.get(str(of), ()))
        return tuple(path for path in found if path is not None)

    def named(self, name: str) -> tuple[StepPath, ...]:
        """Return where the steps of the program of a name are, in whatever group."""
        found = (
            StepPath.parse(to)
            for path, places in self.steps.items()
            if path.rpartition("/")[2] == name
            for to in places
        )
        return tuple(dict.fromkeys(found))

    def sources(self, path: StepPath) -> tuple[str, ...]:
        """Return the paths of the steps of the program that have their place in an instance."""
        if not self.steps:
            return ()
        found = (
            carry(path, to, source)
            for to in _wider(path)
            for source in self._sources.get(str(to), ())
        )
        return tuple(str(source) for source in found if source is not None)

    def label(self, path: str | StepPath) -> str:
        """Return a path in the run, with the steps of the program that have their place there."""
        if not self.steps:
            return str(path)
        found = self.sources(StepPath.parse(path) if isinstance(path, str) else path)
        if not found:
            return str(path)
        more = f" and {len(found) - _LISTED:,} more" if len(found) > _LISTED else ""
        return f"{path} = {', '.join(found[:_LISTED])}{more}"

    def look_up(self, text: str, ends: Mapping[str, _End]) -> _End | None:
        """Return how an instance of a step of the program has ended."""
        found = self.find(text)
        if len(found) != 1:
            return None
        [path] = found
        end = ends.get(text)  # of a step that ran inside of the one that it was put into
        end = ends.get(str(path)) if end is None else end
        if end is None and path[-1].item is not None:
            whole = ends.get(str(StepPath((*path.parent, PathPart(path[-1].name)))))
            end = whole if whole is not None and whole.status in LEFT_OUT else None
        return end

    def hosts(self, ends: Iterable[str]) -> dict[str, str]:
        """Return for each step of the program that ran inside of another one where that was."""
        if not self.steps:
            return {}
        found = {path: self.find(path) for path in ends}
        return {
            path: str(places[0])
            for path, places in found.items()
            if len(places) == 1 and str(places[0]) != path
        }

    def to_json(self) -> dict[str, t.Any]:
        """Return the map as JSON."""
        return {
            "steps": {path: list(places) for path, places in self.steps.items()},
            "removed": dict(self.removed),
        }

    @classmethod
    def from_json(cls, tree: Mapping[str, t.Any]) -> t.Self:
        """Return the map that `to_json` gave."""
        steps = {path: tuple(places) for path, places in tree["steps"].items()}
        return cls(steps, dict(tree["removed"]))

    @cached_property
    def _sources(self) -> dict[str, list[StepPath]]:
        found: dict[str, list[StepPath]] = {}
        for path, places in self.steps.items():
            for to in places:
                found.setdefault(to, []).append(StepPath.parse(path))
        return found


NO_CHANGE: t.Final = SourceMap()
"""Every step of the run has the path that it has in the program."""


def carry(path: StepPath, of: StepPath, to: StepPath) -> StepPath | None:
    """Return an instance of one step for the same instance of another, which stands for it."""
    parts = list(to)
    for depth, (part, known) in enumerate(zip(path, of, strict=True), len(to) - len(of)):
        beside = {
            name: value
            for name in ("item", "round")
            if (value := getattr(part, name)) is not None and getattr(known, name) is None
        }
        if not beside:
            continue
        if depth < 0 or any(getattr(parts[depth], name) is not None for name in beside):
            return None
        parts[depth] = parts[depth]._replace(**beside)
    return StepPath(parts)


def _wider(path: StepPath) -> Iterator[StepPath]:
    """Yield a path and all that have fewer items and rounds, of which it is an instance."""
    shapes: list[Iterable[PathPart]] = [
        dict.fromkeys(
            (
                part,
                part._replace(round=None),
                part._replace(item=None),
                PathPart(part.name),
            )
        )
        for part in path
    ]
    yield from map(StepPath, itertools.product(*shapes))
