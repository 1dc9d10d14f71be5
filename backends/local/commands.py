"""Programs that the engine itself calls, which end with what they are called for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

from couler.backends.local.limits import CANCELLED, Limits
from couler.backends.local.loops import run_coroutine
from couler.backends.local.process import LostProcessError, ProcessEnd, Streams, run_process
from couler.locations.git import CommandEnd
from couler.locations.stop import Stop


def run_command(
    words: Sequence[str], *, environ: Mapping[str, str], directory: Path, stop: Stop
) -> CommandEnd:
    """Run a program to its end or to a stop; nothing of its process group outlives it."""
    stdout, stderr = bytearray(), bytearray()

    async def run() -> ProcessEnd:
        loop = asyncio.get_running_loop()
        with (
            Limits() as limits,
            stop.telling(lambda: loop.call_soon_threadsafe(limits.end, CANCELLED)),
        ):
            return await run_process(
                words,
                environ=environ,
                directory=directory,
                streams=Streams(None, stdout.extend, stderr.extend),
                limits=limits,
                on_start=lambda _pid: None,
            )

    try:
        end = run_coroutine(run, stop.set)
    except LostProcessError as error:
        raise OSError(str(error)) from error
    return CommandEnd(
        end.exit_code, stdout.decode(errors="replace"), stderr.decode(errors="replace")
    )
