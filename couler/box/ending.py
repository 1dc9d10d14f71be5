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
    """How the process ended that a program was built in.

    Attributes
    ----------
    refused
        Why the walls could not be built, so that nothing ran; else None.
    result
        What the judge told of what the program gave; the workflow in it is a stranger's.
    printed
        What the program printed, the beginning of it.
    code
        The exit code; minus the number of the signal that ended it; None if it was stopped.
    judge
        The same of the process that verifies.
    cpu_s
        Processor time, in seconds.
    stopped
        Which bound it was stopped at, else None.
    seconds
        How long all of it took.
    """

    refused: str | None
    result: bytes
    printed: bytes
    code: int | None
    judge: int | None
    cpu_s: float
    stopped: t.Literal["wall_s", "output_bytes"] | None
    seconds: float
