"""Program order: the positions of the implicit style."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Iterator

if t.TYPE_CHECKING:
    from couler.dsl.drafts import Draft


class ProgramOrder:
    """The positions of one scope; every step waits for the steps of the position before it.

    `concurrent`, and all `when` calls on one output, share a position: each branch of it is a
    sequence of positions of its own, and the next position waits for the last of every branch.
    """

    __slots__ = ("before", "current", "key")

    def __init__(self, before: tuple[Draft, ...] = ()) -> None:
        self.before = before
        self.current: list[Draft] = []
        self.key: object = None

    def place(self, draft: Draft) -> None:
        """Give a step the next position."""
        self.advance(None)
        draft.after = self.before
        self.current.append(draft)

    def advance(self, key: object) -> None:
        """Go to the next position, or stay if this one has the same key."""
        if key is not None and key == self.key:
            return
        if self.current:
            self.before = tuple(self.current)
            self.current = []
        self.key = key

    @contextlib.contextmanager
    def branch(self, key: object) -> Iterator[ProgramOrder]:
        """Give a sequence of positions that is one branch of the position with this key."""
        self.advance(key)
        inner = ProgramOrder(self.before)
        yield inner
        self.current.extend(inner.current)
