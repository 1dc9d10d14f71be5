"""Texts that no process can be given, and that Kubernetes takes neither."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Group, Workflow


def check_texts(workflow: Workflow) -> Iterator[Diagnostic]:
    """Yield the parameters and steps with a null character, or with half of a character."""
    for parameter in workflow.parameters:
        if text := _impossible(parameter):
            yield Diagnostic("CLR385", f'the parameter "{parameter.name}" {_why(text)}')
    for path, step in steps_by_path(workflow):
        shown = step
        if isinstance(step.action, Group):  # the steps in it come by themselves
            shown = step.model_copy(update={"action": Group(steps=())})
        if text := _impossible(shown):
            yield Diagnostic("CLR385", f'step "{path}" {_why(text)}', path, step.source)


def _why(text: str) -> str:
    kind = "a null character" if "\0" in text else "half a character"
    return f"has {kind} in the text {text!r:.80}, which no process can be given. Leave it out."


def _impossible(node: BaseModel) -> str | None:
    return next((text for text in _texts(node) if "\0" in text or not _is_whole(text)), None)


def _is_whole(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= one <= "\udfff" for one in text)


def _texts(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case BaseModel():
            for one in value.__dict__.values():
                yield from _texts(one)
        case dict():
            for key, one in value.items():
                yield from _texts(key)
                yield from _texts(one)
        case list() | tuple():
            for one in value:
                yield from _texts(one)
