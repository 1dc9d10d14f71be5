"""What work asks for before it starts, and what it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from couler.backends.local.capacity import Need
from couler.backends.local.limits import Limits
from couler.backends.local.locks import Hold


class Lane:
    """A bound on how many requests run at the same time: `max_parallel` of a scope, or a lock."""

    __slots__ = ("_to_tell", "free")

    def __init__(self, width: int) -> None:
        self.free = width
        self._to_tell: list[Callable[[], None]] = []

    def take(self) -> None:
        """Take a place in it."""
        self.free -= 1

    def give_back(self) -> None:
        """Give a place back."""
        self.free += 1
        told, self._to_tell = self._to_tell, []
        for tell in told:
            tell()

    def on_free(self, tell: Callable[[], None]) -> None:
        """Have a function called once, when the next place is given back."""
        self._to_tell.append(tell)


@dataclass(frozen=True, slots=True)
class Shape:
    """What requests of a kind ask for; those of one shape wait in one line."""

    need: Need
    lanes: tuple[Lane, ...] = ()
    locks: tuple[Hold, ...] = ()


@dataclass(slots=True, eq=False)
class Request:
    """Work that waits for its start."""

    shape: Shape
    priority: float
    limits: Limits
    start: Callable[[Grant | None], None]
    passed_over: int = 0
    is_given_up: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Grant:
    """What a request has been given, until it is released."""

    shape: Shape
    gpus: tuple[str, ...] = ()
