"""Answer as a language model does, from a script: `python -m tests.fakes.llm SCRIPT [-- COMMAND]`.

It prints the variables that make commands of couler use it, and answers until Ctrl-C. With a
COMMAND behind --, it runs that with these variables set, and ends as it ends.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import threading
from pathlib import Path

from couler.errors import ConfigurationError
from tests.fakes.llm.server import Exchange, ScriptedServer


def main() -> None:
    """Answer, beside a command or until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.llm", description=__doc__)
    parser.add_argument("script", type=Path)
    parser.add_argument("--port", type=int, default=0, help="on 127.0.0.1; by default a free one")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()

    def tell(exchange: Exchange) -> None:
        by = "no rule" if exchange.rule is None else f"rule {exchange.rule}"
        print(f"{exchange.asked}: {exchange.status} by {by}", file=sys.stderr, flush=True)  # noqa: T201

    try:
        server = ScriptedServer(
            options.script, port=options.port, on_request=None if options.command else tell
        )
        with server:
            sys.exit(_beside(options.command, server) if options.command else _serve(server))
    except (ConfigurationError, OSError) as error:
        parser.exit(3, f"error: {error}\n")


def _beside(command: list[str], server: ScriptedServer) -> int:
    if command[0] == "couler":  # this one, whatever is on the path
        command[:1] = [sys.executable, "-m", "couler.cli"]
    done = subprocess.run(command, env={**os.environ, **server.environment}, check=False)
    return 128 - done.returncode if done.returncode < 0 else done.returncode


def _serve(server: ScriptedServer) -> int:
    for name, value in server.environment.items():
        print(f"export {name}={value}", flush=True)  # noqa: T201
    print("Answering until Ctrl-C", file=sys.stderr)  # noqa: T201
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print(f"{len(server.exchanges)} requests answered", file=sys.stderr)  # noqa: T201
    return 0


if __name__ == "__main__":
    main()
