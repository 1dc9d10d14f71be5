"""The command line: `couler COMMAND FILE`. Each command is a module, loaded when it is used."""

from couler.cli._app import GuardedCommand, app, main

__all__ = ["GuardedCommand", "app", "main"]
