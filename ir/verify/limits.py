"""Rules for sizes that hold on every engine."""

from __future__ import annotations

from couler.ir.verify.scope import ScopeView
from couler.ir.wire import MAX_VALUE_BYTES, encode
from couler.ir.workflow import Step

MAX_WORD_BYTES = 131_071
"""Longest argument or environment variable that Linux gives to a process, in bytes of UTF-8."""

SURELY_SHORT = MAX_VALUE_BYTES // 4
"""A text of so few characters is within all limits: none takes more than four bytes."""

LARGE_SCRIPT_BYTES = 64 * 1024
"""A script above it makes the compiled workflow large, in bytes of UTF-8."""

MAX_DEPTH = 32
"""Most groups around a step; files with much deeper ones could not be read back."""

MAX_ROUNDS = 10_000
"""Most rounds of a loop."""


def check_literal(view: ScopeView, step: Step | None, field: str, value: object) -> None:
    """Refuse a literal that is too large to travel."""
    if isinstance(value, str):
        if len(value) <= SURELY_SHORT:
            return
    elif not isinstance(value, tuple | dict):
        return
    size = len(encode(value).encode())
    if size > MAX_VALUE_BYTES:
        view.add(
            "CLR501",
            step,
            f"{field} is {size:,} bytes; at most {MAX_VALUE_BYTES:,} travel between steps. "
            "Give it as a file.",
        )


def check_word(view: ScopeView, step: Step, field: str, text: str) -> None:
    """Refuse plain text that no process can be given."""
    size = len(text.encode())
    if size > MAX_WORD_BYTES:
        view.add(
            "CLR502",
            step,
            f"{field} holds a text of {size:,} bytes; a process takes at most "
            f"{MAX_WORD_BYTES:,} in one argument or variable. Give it as a file.",
        )


def check_script(view: ScopeView, step: Step, source: str) -> None:
    """Warn of a script that is better kept in an image."""
    size = len(source.encode())
    if size > LARGE_SCRIPT_BYTES:
        view.add(
            "CLR503",
            step,
            f"its script is {size:,} bytes and is carried in the compiled workflow. "
            "Put the code into an image.",
            "warning",
        )
