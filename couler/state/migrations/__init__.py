"""How the tables came to be: one revision a file in `versions`, written by hand."""

from __future__ import annotations

from pathlib import Path

HEAD = "0010"
"""The revision that this program works with; known here so that Alembic need not be loaded."""

NEW = Path(__file__).with_name("new.sql")
"""What makes a new database of SQLite."""


def statements_of_new() -> list[str]:
    """Return the statements that make a new database of SQLite."""
    return NEW.read_text(encoding="utf-8").rstrip(";\n").split(";\n\n")
