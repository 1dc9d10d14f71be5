"""A scripted endpoint: `python -m tests.fakes.llm SCRIPT [-- COMMAND]`."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import click

from couler.cli import GuardedCommand
from couler.errors import ConfigurationError
from tests.fakes.llm.server import Exchange, ScriptedServer


@click.command(cls=GuardedCommand)
@click.argument("script", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="On 127.0.0.1; else any.")
def main(script: Path, program: tuple[str, ...], port: int) -> None:
    """Answer as a language model does, from a script.

    Prints the variables that make other commands use it, and answers until Ctrl-C. With a COMMAND
    behind --, runs that with these variables set, and ends as it ends.
    """

    def tell(exchange: Exchange) -> None:
        by = "no rule" if exchange.rule is None else f"rule {exchange.rule}"
        click.echo(f"{exchange.asked}: {exchange.status} by {by}", err=True)

    try:
        with ScriptedServer(script, port=port, on_request=None if program else tell) as server:
            sys.exit(_beside(list(program), server) if program else _serve(server))
    except OSError as error:
        raise ConfigurationError(str(error)) from error


def _beside(command: list[str], server: ScriptedServer) -> int:
    if command[0] == "couler":  # this one, whatever is on the path
        command[:1] = [sys.executable, "-m", "couler.cli"]
    done = subprocess.run(command, env={**os.environ, **server.environment}, check=False)
    return 128 - done.returncode if done.returncode < 0 else done.returncode


def _serve(server: ScriptedServer) -> int:
    for name, value in server.environment.items():
        click.echo(f"export {name}={value}")
    click.echo("Answering until Ctrl-C", err=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        click.echo(f"{len(server.exchanges)} requests answered", err=True)
    return 0


if __name__ == "__main__":
    main()
