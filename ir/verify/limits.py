"""Rules for sizes that hold on every engine."""

from __future__ import annotations

from collections.abc import Sequence

from couler.ir.storage import EnvVar
from couler.ir.values import MAX_VALUE_BYTES, MAX_WORD_BYTES, Literal, Text, encode
from couler.ir.verify.scope import ScopeView
from couler.ir.walk import pod_containers
from couler.ir.workflow import MAIN, Container, ContainerSet, Input, Step

MAX_WORDS_BYTES = 2 * 1024 * 1024
"""Most that Linux gives to a process of arguments and variables together, as it is set up."""

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


def check_word(view: ScopeView, step: Step, field: str, text: str, *, name: str = "") -> None:
    """Refuse plain text that no process can be given; `name` is that of its variable."""
    size = len(text.encode()) + (len(name) + 1 if name else 0)
    if size > MAX_WORD_BYTES:
        view.add(
            "CLR502",
            step,
            f"{field} holds a text of {size:,} bytes; a process takes at most "
            f"{MAX_WORD_BYTES:,} in one argument or variable. Give it as a file.",
        )


def check_words(view: ScopeView, step: Step) -> None:
    """Refuse plain texts that no process of a step can be given together."""
    action = step.action
    words = (*action.command, *action.args) if isinstance(action, Container) else ()
    if len(words) + len(step.env) + len(step.inputs) >= _FEW:
        _check_together(view, step, words, step.env, step.inputs, "its arguments and variables")
    if step.gives(_WITH_CONTAINERS) or isinstance(action, ContainerSet):
        for one in pod_containers(step):
            what = f'the arguments and variables of its container "{one.name}"'
            inputs = step.inputs if one.name == MAIN else ()
            _check_together(view, step, (*one.command, *one.args), one.env, inputs, what)


_FEW = MAX_WORDS_BYTES // MAX_WORD_BYTES
"""Fewer texts are within the limit together, as those that are longer are refused alone."""

_WITH_CONTAINERS = frozenset(("init_containers", "sidecars"))


def _check_together(
    view: ScopeView,
    step: Step,
    words: Sequence[Text],
    env: Sequence[EnvVar],
    inputs: Sequence[Input],
    what: str,
) -> None:
    named: list[tuple[str, Text | None]] = [(one.name, one.value) for one in env]
    named += [(f"COULER_INPUT_{one.name}", one.value) for one in inputs]
    size = sum(_size(text) + 1 for text in (*words, *(text for _, text in named)))
    size += sum(len(name) + 1 for name, _ in named)
    if size > MAX_WORDS_BYTES:
        view.add(
            "CLR502",
            step,
            f"{what} are {size:,} bytes together; a process takes at most {MAX_WORDS_BYTES:,}. "
            "Give the large ones as files.",
        )


def _size(text: Text | None) -> int:
    """How many bytes a text takes that is known before the run."""
    if isinstance(text, Literal):
        text = encode(text.value)
    return len(text.encode()) if isinstance(text, str) else 0


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
