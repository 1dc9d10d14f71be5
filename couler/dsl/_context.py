"""What the program is building right now: the one context variable of the package."""

from __future__ import annotations

import contextlib
import typing as t
from collections.abc import Callable, Iterator
from contextvars import ContextVar

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


@contextlib.contextmanager
def collect() -> Iterator[list[Workflow]]:
    """Record the workflows that a program builds in a block, instead of running them."""
    found: list[Workflow] = []
    with entered(Context(None, found, current().settings)):
        yield found
