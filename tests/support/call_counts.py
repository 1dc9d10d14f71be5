"""How much work a function does, told by its calls: unlike seconds the same each time."""

from __future__ import annotations

import sys
import typing as t
from collections.abc import Callable

T = t.TypeVar("T")


def calls(function: Callable[[T], object], argument: T) -> int:
    """Return how many functions are called."""
    count = 0

    def on_call(frame: object, event: str, called: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_call)
    try:
        function(argument)
    finally:
        sys.setprofile(None)
    return count
