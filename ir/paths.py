"""Where in a run something happened: step names from the outside in, with item and round."""

from __future__ import annotations

import re
import typing as t

HANDLER_PREFIX = "exit:"
"""Begins the path of an exit handler, and so those of its steps: `exit:notify/mail`."""

_PART = re.compile(r"(?P<name>[^\[\]@/]+)(?:\[(?P<item>\d+)\])?(?:@(?P<round>\d+))?")


class PathPart(t.NamedTuple):
    """One level of a path: a step, an item of its foreach, a round of its loop."""

    name: str
    item: int | None = None
    round: int | None = None

    def __str__(self) -> str:
        item = "" if self.item is None else f"[{self.item}]"
        round_ = "" if self.round is None else f"@{self.round}"
        return f"{self.name}{item}{round_}"


class StepPath(tuple[PathPart, ...]):
    """The place of a step's instance in a run, the same on every engine.

    Items and rounds count from 0. A path without an item (round) stands for the foreach (loop)
    as a whole.

    Examples
    --------
    >>> path = StepPath.parse("train[2]/fit@1")
    >>> path[1].round, str(path), str(path.parent)
    (1, 'train[2]/fit@1', 'train[2]')
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> StepPath:
        """Read a path from its text."""
        parts = []
        for piece in text.split("/"):
            match = _PART.fullmatch(piece)
            if match is None:
                raise ValueError(f"{text!r} is no path of a step")
            item, round_ = match["item"], match["round"]
            parts.append(
                PathPart(match["name"], item and int(item), round_ and int(round_))  # type: ignore[arg-type]  # None or int
            )
        return cls(parts)

    @property
    def parent(self) -> StepPath:
        """The path of the group that the step is in."""
        return StepPath(self[:-1])

    def __truediv__(self, name: str) -> StepPath:
        return StepPath((*self, PathPart(name)))

    def at_item(self, index: int) -> StepPath:
        """Return the path of an item of this foreach."""
        return StepPath((*self[:-1], self[-1]._replace(item=index)))

    def at_round(self, index: int) -> StepPath:
        """Return the path of a round of this loop."""
        return StepPath((*self[:-1], self[-1]._replace(round=index)))

    def __str__(self) -> str:
        return "/".join(map(str, self))

    def __repr__(self) -> str:
        return f"StepPath({str(self)!r})"


def without_places(path: StepPath) -> StepPath:
    """Return a path without items and rounds."""
    return StepPath(PathPart(part.name) for part in path)
