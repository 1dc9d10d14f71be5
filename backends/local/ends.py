"""What runs in instances of steps, and how they end."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from couler.backends.local.companions import Companion, companions
from couler.backends.local.limits import Limits
from couler.backends.local.locations.exchange import (
    Files,
    Locations,
    bind_location,
    bind_sources,
    bind_targets,
)
from couler.backends.local.process import Usage
from couler.ir.artifacts import ListFiles, Location
from couler.ir.grouped import InnerEnd
from couler.ir.semantics.outputs import RUNS, bind_inputs
from couler.ir.semantics.status import CANCELLED, State
from couler.ir.semantics.values import Outputs, Stored, View, resolve_text
from couler.ir.storage import EnvVar
from couler.ir.walk import StepPath
from couler.ir.workflow import Container, Http, Output, Step

FailureKind: t.TypeAlias = t.Literal["failure", "error", "cancelled"]
"""`failure`: it ran and ended badly; `error`: it could not run, was lost, or gave no outputs."""


@dataclass(frozen=True, slots=True)
class End:
    """How a step's instance ended."""

    state: State
    outputs: Outputs = field(default_factory=dict)
    message: str | None = None
    exit_code: int | None = None
    attempts: int = 0
    key: str | None = None
    since: int = 0
    source_run: str | None = None
    inside: tuple[InnerEnd, ...] = ()


@dataclass(frozen=True, slots=True)
class ScopeEnd:
    """How a scope ended."""

    states: Mapping[str, State]
    outputs: Mapping[str, Outputs]
    failed: tuple[str, ...]
    since: int


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt ended."""

    succeeded: bool
    outputs: Outputs = field(default_factory=dict)
    message: str | None = None
    exit_code: int | None = None
    kind: FailureKind | None = None
    usage: Usage | None = None
    since: int = RUNS
    files: Files = field(default_factory=dict)
    """What its inputs took from outside of the workflow."""
    inside: tuple[InnerEnd, ...] = ()
    """How the steps ended that it ran inside."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A step with its values evaluated, which are the same for each of its attempts."""

    step: Step
    path: StepPath
    outputs: tuple[Output, ...]
    inputs: Mapping[str, Stored]
    words: tuple[str, ...]
    texts: Mapping[str, str]
    url: str = ""
    body: str | None = None
    companions: tuple[Companion, ...] = ()
    sources: Locations = field(default_factory=dict)
    """Where inputs are that lie outside of the workflow."""
    targets: Locations = field(default_factory=dict)
    """Where outputs are put, outside of the workflow."""
    files: Files = field(default_factory=dict)
    """What has come from the sources already."""
    listed: Location | None = None
    """Where the files are that are listed."""


def bind(step: Step, path: StepPath, outputs: tuple[Output, ...], view: View) -> Bound:
    """Evaluate the values of a step that runs something."""
    action = step.action
    inputs = bind_inputs(step, view)
    words: tuple[str, ...] = ()
    variables: tuple[EnvVar, ...] = step.env
    url, body, listed = "", None, None
    if isinstance(action, Container):
        words = tuple(resolve_text(word, view) for word in (*action.command, *action.args))
    elif isinstance(action, Http):
        variables = action.headers
        url = resolve_text(action.url, view)
        body = None if action.body is None else resolve_text(action.body, view)
    elif isinstance(action, ListFiles):
        listed = bind_location(action.at, view)
    texts = {
        variable.name: resolve_text(variable.value, view)
        for variable in variables
        if variable.value is not None
    }
    around = companions(step, lambda text: resolve_text(text, view))
    sources, targets = bind_sources(step, view), bind_targets(step, view)
    return Bound(
        step,
        path,
        outputs,
        inputs,
        words,
        texts,
        url,
        body,
        around,
        sources,
        targets,
        listed=listed,
    )


def cut_off(limits: Limits, otherwise: str | None = None) -> Attempt:
    """Return the end of an attempt that its limits ended, or that failed otherwise."""
    return Attempt(False, message=limits.reached or otherwise, kind=failure_kind(limits.reached))


def failure_kind(reason: str | None) -> FailureKind:
    """Return how an attempt failed that its limits ended for a reason, or that ended by itself."""
    return "cancelled" if reason == CANCELLED else "failure"


def bad_end(kind: FailureKind | None) -> t.Literal["failed", "cancelled"]:
    """Return how something ended that ran, and not well."""
    return "cancelled" if kind == "cancelled" else "failed"
