"""Where a program is while it builds workflows: the current scope, and the line of a call."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import typing as t
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import CodeType, FrameType, TracebackType

from couler.errors import DefinitionError
from couler.ir.diagnostics import Diagnostic
from couler.ir.policies import SourceRef

if t.TYPE_CHECKING:
    from couler.dsl.scope import Scope
    from couler.dsl.workflow import Workflow


class Settings(t.NamedTuple):
    """What `config_defaults` and `set_default_submitter` set, for workflows to come."""

    submitter: object | None = None
    service_account: str | None = None
    name_salter: Callable[[str], str] | None = None


class Context(t.NamedTuple):
    """The state of a program while it builds workflows."""

    scope: Scope | None = None
    """Where steps go; None before the first step of a program outside `with Workflow`."""
    collected: list[Workflow] | None = None
    """Where workflows are recorded under `collect()`, instead of being run."""
    settings: Settings = Settings()


_CURRENT: ContextVar[Context] = ContextVar("couler", default=Context())  # noqa: B039  # immutable

current = _CURRENT.get


def set_scope(scope: Scope | None) -> None:
    """Make a scope the current one until the next change; for workflows without a block."""
    _CURRENT.set(_CURRENT.get()._replace(scope=scope))


def set_settings(settings: Settings) -> None:
    """Keep settings for the workflows to come."""
    _CURRENT.set(_CURRENT.get()._replace(settings=settings))


@contextlib.contextmanager
def entered(context: Context) -> Iterator[None]:
    """Run a block in another context; the one before is back after it, whatever happens."""
    token = _CURRENT.set(context)
    try:
        yield
    finally:
        _CURRENT.reset(token)


@contextlib.contextmanager
def entered_scope(scope: Scope) -> Iterator[None]:
    """Run a block whose steps go into a scope."""
    with entered(_CURRENT.get()._replace(scope=scope)):
        yield


class Block:
    """What a `with` block opens, and closes at its end."""

    _block: AbstractContextManager[None] | None = None

    def _open(self, block: AbstractContextManager[None]) -> None:
        self._block = block
        block.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        block, self._block = self._block, None
        if block is not None:
            block.__exit__(kind, error, trace)


@contextlib.contextmanager
def collect() -> Iterator[list[Workflow]]:
    """Record the workflows that a program builds in a block, instead of running them."""
    found: list[Workflow] = []
    with entered(Context(None, found, current().settings)):
        yield found


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
