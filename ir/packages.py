"""How the packages of a script are installed in its container, on every engine."""

from __future__ import annotations

import shlex
from collections.abc import Iterable


def install_command(packages: Iterable[str]) -> str:
    """Return the command of a shell that installs packages, and says nothing if that succeeds."""
    command = "python -m pip install -q --disable-pip-version-check --root-user-action=ignore"
    return f"{command} {shlex.join(packages)}"
