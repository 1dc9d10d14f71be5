"""The command line: `couler COMMAND FILE`. Each command is a module, loaded when it is used."""

from couler.cli._app import GuardedCommand as GuardedCommand
from couler.cli._app import app as app
from couler.cli._app import main as main

__all__ = ["GuardedCommand", "app", "main"]
