"""Where in the program of the user a call was written, and the errors that name that line."""

from __future__ import annotations

import functools
import os
import sys
from types import CodeType, FrameType

from couler.errors import DefinitionError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def caller_frame() -> FrameType:
    """Return the innermost frame that is not Couler's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        filename = frame.f_code.co_filename
        if not (_is_own(filename) or (filename == "<string>" and _is_generated(frame))):
            break
        frame = frame.f_back
    return frame


def _is_generated(frame: FrameType) -> bool:
    """Return whether a frame is that of a method that `dataclass` made for a class of ours."""
    return str(frame.f_globals.get("__name__")).startswith("couler.")


def program_file() -> str:
    """Return the file of the program: of the nearest module that is being executed."""
    found = caller_frame()
    frame: FrameType | None = found
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and not _is_own(code.co_filename):
            return code.co_filename
        frame = frame.f_back
    return found.f_code.co_filename  # a thread


@functools.cache
def _is_own(filename: str) -> bool:
    return filename.startswith(_OWN)


def function_name(code: CodeType) -> str | None:
    """Return the name that a function's code has, or None for modules, lambdas and the like."""
    name = code.co_name
    return None if name.startswith("<") else name


def shown_file(filename: str) -> str:
    """Return a file's name for messages: relative to the current folder if it lies below it."""
    if "ipykernel_" in filename or filename.startswith("<"):
        return "<notebook>" if "ipy" in filename else filename
    here = os.getcwd() + os.sep
    path = os.path.abspath(filename)
    return path[len(here) :] if path.startswith(here) else path


class ProgramError(DefinitionError):
    """A program asks for what has no meaning; `diagnostic` says what, and where."""

    def __init__(self, code: str, message: str) -> None:
        frame = caller_frame()
        place = SourceRef(file=shown_file(frame.f_code.co_filename), line=frame.f_lineno)
        self.diagnostic = Diagnostic(code, message, source=place)
        super().__init__(str(self.diagnostic))


class UnknownAttributeError(ProgramError, AttributeError):
    """A value of the workflow has no part of a name, so that `hasattr` is False."""
