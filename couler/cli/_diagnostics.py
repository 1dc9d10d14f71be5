"""Diagnostics as lines of text, in the width and the colours of the terminal."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from couler.cli.session import Session
from couler.errors import fold
from couler.ir.diagnostics import Diagnostic


def text_lines(session: Session, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Return what is told of diagnostics, a line or more for each."""
    lines = []
    width = session.width_of_terminal()
    for one, more in fold(diagnostics):
        place = f"{one.source}  " if one.source is not None else ""
        lead = f"{place}{one.code} {one.severity}  "
        text = lead + one.message
        if width is not None and len(text) > width:
            indent = " " * min(len(lead), width // 2)
            text = textwrap.fill(
                text, width, subsequent_indent=indent, break_long_words=False,
                break_on_hyphens=False,
            )  # fmt: skip
        colour = "red" if one.severity == "error" else "yellow"
        shown = session.style(one.severity, err=False, fg=colour)
        lines.append(text.replace(f"{one.code} {one.severity}", f"{one.code} {shown}", 1))
        if more:
            lines.append(more)
    return lines
