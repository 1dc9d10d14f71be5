"""What to write in place of what made a program raise, where that can be told from the error."""

from __future__ import annotations

import enum
import inspect
import re
import sys
import traceback
import typing as t
from collections.abc import Iterable, Iterator
from types import FrameType, ModuleType, TracebackType

import couler
from couler.ir.diagnostics import did_you_mean

_VALUE = (
    "A value of the workflow is known only when the workflow runs, so Python cannot work with it "
    'while it is built. Pass it to a step, or put it into text: couler.text("... {}", value)'
)
_STEP_FUNCTION = "A function that is a step must be called to make one: train(...)"
_CALL = re.compile(
    r"(?P<path>[\w.]+)\(\) (?:missing|takes|got an unexpected keyword argument '(?P<name>\w+)')"
)


def hint_for(error: BaseException) -> str:
    """Return what to do about an error of a program, with a blank before it; or nothing."""
    match error:
        case ModuleNotFoundError(name=str()):
            return (
                ". Install it where the workflow is built; or, if only steps use it, import it in "
                "their functions"
            )
        case ImportError(name=str()):
            return _imported(error)
        case AttributeError(name=str()):
            return _attribute(error)
        case NameError(name=str()):
            return _nearest(error.name, _names_at(error.__traceback__))
        case RecursionError():
            return _recursion(error)
        case TypeError():
            return _call(error) or _value(error)
    return _value(error)


def _imported(error: ImportError) -> str:
    match = re.search(r"cannot import name '(\w+)' from '([\w.]+)'", str(error))
    module = sys.modules.get(match[2]) if match else None
    if match is None or module is None or module.__name__.partition(".")[0] != "couler":
        return ""
    return _nearest(match[1], _public(module))


def _attribute(error: AttributeError) -> str:
    owner = error.obj
    if owner is couler or owner is sys.modules.get("couler.argo"):  # the ancestor's name for it
        return _nearest(error.name, couler.__all__)
    if isinstance(owner, ModuleType) and owner.__name__.startswith("couler."):
        return _nearest(error.name, _public(owner))
    kind = owner if isinstance(owner, type) else type(owner)
    if not (kind.__module__.startswith("couler.") or issubclass(kind, enum.Enum)):
        return ""
    from couler.dsl.workflow import Workflow

    if isinstance(owner, Workflow) and error.name in dir(owner.params):
        return f". It is a parameter: write params.{error.name}"
    known = _public(owner)
    return _nearest(error.name, known) or (f". It has {', '.join(known)}" if len(known) < 8 else "")


def _nearest(name: str | None, known: Iterable[str]) -> str:
    hint = did_you_mean(name or "", known)
    return f".{hint}" if hint else ""


def _public(owner: object) -> list[str]:
    return [name for name in dir(owner) if not name.startswith("_")]


def _names_at(trace: TracebackType | None) -> Iterator[str]:
    """Yield the names that the line which raised could have meant."""
    frame: FrameType | None = None
    while trace is not None:
        frame, trace = trace.tb_frame, trace.tb_next
    if frame is not None:
        yield from {**frame.f_builtins, **frame.f_globals, **frame.f_locals}


def _recursion(error: RecursionError) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    calls = [frame.name for frame in frames if not frame.name.startswith("<")]
    most = max(set(calls), key=calls.count, default="a function")
    return (
        f". {most} calls itself without an end: what a step will return cannot end it, as steps "
        "are made before any runs. Use couler.exec_while or couler.loop"
    )


def _call(error: TypeError) -> str:
    """Return what a function of Couler takes, if it was called otherwise."""
    match = _CALL.match(str(error))
    if match is None:
        return ""
    names = match["path"].removesuffix(".__init__").split(".")
    target = _named(names[0])
    for name in names[1:]:
        target = getattr(target, name, None)
    if target is None:
        return ""
    parameters = [
        one for one in inspect.signature(target).parameters.values() if one.name != "self"
    ]
    if match["name"] is not None:
        return _nearest(match["name"], [one.name for one in parameters])
    by_place = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
    parts = [
        f"by position {', '.join(by_place)}" if by_place else "",
        f"by name {', '.join(named)}" if named else "",
        "any other by name" if any(one.kind is one.VAR_KEYWORD for one in parameters) else "",
    ]
    return f". It takes {'; '.join(part for part in parts if part)}"


def _named(name: str) -> t.Any:
    """Return something public, or the class of a typed step, by its name."""
    if name in ("TypedStep", "Partial"):
        from couler.dsl import step

        return vars(step)[name]
    return getattr(couler, name) if name in couler.__all__ else None


def _value(error: BaseException) -> str:
    """Return what values of the workflow are for, if one is what Python could not work with."""
    if "couler.dsl.handles" not in sys.modules:
        return ""
    from couler.dsl.handles import Value

    text = str(error)
    if re.search(r"\b(TypedStep|Partial)\b", text):
        return f". {_STEP_FUNCTION}"
    names = "|".join(["Value", *_classes_below(Value)])
    return f". {_VALUE}" if re.search(rf"\b({names})\b|<couler (step|value) ", text) else ""


def _classes_below(kind: type) -> Iterator[str]:
    below: list[type] = kind.__subclasses__()
    for one in below:
        yield one.__name__
        yield from _classes_below(one)
