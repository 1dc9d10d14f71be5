"""Running the scripted server for `couler llm fake`."""

from __future__ import annotations

import subprocess
import sys
import typing as t
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from couler.errors import ConfigurationError
from couler.llm.fake import ScriptedServer

if t.TYPE_CHECKING:
    from couler.llm.fake import Exchange


@contextmanager
def started(script: Path, port: int, tell: Callable[[Exchange], None]) -> Iterator[ScriptedServer]:
    """Run a scripted server."""
    server = ScriptedServer(script, port=port, on_request=tell)
    try:
        server.start()
    except OSError as error:
        raise ConfigurationError(
            f"port {port} of 127.0.0.1 cannot be listened on: {error.strerror}. Name another with "
            "--port, or none for any that is free"
        ) from error
    try:
        yield server
    finally:
        server.close()


def run_beside(
    program: Sequence[str], server: ScriptedServer, environment: Mapping[str, str]
) -> int:
    """Run a command that uses a scripted server, and return its exit code."""
    words = list(program)
    if words[0] == "couler":  # this one, whatever is on the path
        words[:1] = [sys.executable, "-m", "couler.cli"]
    try:
        done = subprocess.run(words, env={**environment, **server.environment}, check=False)
    except OSError as error:
        raise ConfigurationError(f"{program[0]} cannot be started: {error.strerror}") from error
    return 128 - done.returncode if done.returncode < 0 else done.returncode
