"""What the processes of the box tell each other."""

from __future__ import annotations

import typing as t

UP = b"the walls stand\n"
"""Written when all walls stand, before anything of a program runs."""

OUT_OF_MEMORY = 77
"""Exit code of a process that had no memory left."""

IS_LONG = b'{"is_long": true}'
"""What the judge tells of a result that is longer than it may be."""


class Ending(t.NamedTuple):
    """How the process ended that a program was built in."""

    refused: str | None
    result: bytes
    printed: bytes
    code: int | None
    judge: int | None
    cpu_s: float
    stopped: t.Literal["wall_s", "output_bytes"] | None
    seconds: float
