"""What ruff says of a file."""

from __future__ import annotations

import json
import subprocess
import sys
import typing as t
from pathlib import Path

COLUMNS = 100
_OPTIONS = ("--isolated", "--line-length", str(COLUMNS))


def formatted(source: str) -> str:
    """Return a file as ruff formats it."""
    return _ruff("format", *_OPTIONS, "-", source=source)


def linted(source: str, rules: str) -> list[dict[str, t.Any]]:
    """Return what ruff finds in a file."""
    words = ("--select", rules, "--preview", "--exit-zero", "--output-format", "json")
    found: list[dict[str, t.Any]] = json.loads(
        _ruff("check", *_OPTIONS, *words, "-", source=source)
    )
    return found


def _ruff(*words: str, source: str) -> str:
    command = [str(Path(sys.executable).with_name("ruff")), *words]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
