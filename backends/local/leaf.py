"""One attempt of a step that runs something: a process, an HTTP request, a pause."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from couler.backends.local.outputs import KEEP_BYTES, read_output
from couler.backends.local.request import RequestError, send
from couler.backends.local.retries import FailureKind
from couler.backends.local.secrets import Entries
from couler.backends.local.store import Store
from couler.backends.local.values import (
    VALUE_ERRORS,
    Outputs,
    Stored,
    View,
    bind_input,
    resolve_text,
)
from couler.ir.paths import StepPath
from couler.ir.storage import EnvVar
from couler.ir.workflow import Container, Http, Output, Step, Suspend


@dataclass(frozen=True, slots=True)
class Place:
    """What all attempts of a run share."""

    folder: Path
    store: Store
    entries: Entries
    environ: Mapping[str, str]
    """What processes inherit."""
    secrets: tuple[str, ...] = ()
    """Values to mask in logs."""

    def log(self, path: StepPath) -> Path:
        """Return where the log of a step's instance is written."""
        return self.folder / "logs" / f"{path}.log"

    def make_folder(self, path: StepPath) -> Path:
        """Make the folder that an attempt has for itself."""
        parent = self.folder / "work" / str(path)
        parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix="attempt-", dir=parent))


@dataclass(frozen=True, slots=True)
class Limits:
    """What can end an attempt early."""

    stop: threading.Event
    deadline: float | None = None
    """As `time.monotonic()` tells it; None for never."""

    def remaining_s(self) -> float | None:
        """Return the seconds until the deadline, None for no deadline."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def within(self, seconds: float | None) -> Limits:
        """Return these limits with the end of another time from now, if that is earlier."""
        if seconds is None:
            return self
        end = time.monotonic() + seconds
        return Limits(self.stop, end if self.deadline is None else min(end, self.deadline))

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond what can end an attempt."""
        left = self.remaining_s()
        # The cap is what a lock can wait for; a longer wait is for ever.
        self.stop.wait(min(seconds, threading.TIMEOUT_MAX if left is None else left))

    def reached(self) -> str | None:
        """Return why nothing may run any more, None if it may."""
        if self.stop.is_set():
            return CANCELLED
        if self.deadline is not None and time.monotonic() >= self.deadline:
            return OUT_OF_TIME
        return None


CANCELLED = "the run was cancelled"
OUT_OF_TIME = "it did not end within its time limit"


@dataclass(frozen=True, slots=True)
class Attempt:
    """How one attempt ended."""

    succeeded: bool
    outputs: Outputs = field(default_factory=dict)
    message: str | None = None
    exit_code: int | None = None
    kind: FailureKind | None = None
    """How it failed; None where another attempt cannot help."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A step with its values evaluated, which are the same for each of its attempts."""

    step: Step
    path: StepPath
    outputs: tuple[Output, ...]
    inputs: Mapping[str, Stored]
    words: tuple[str, ...]
    """Command and arguments; none for a script."""
    texts: Mapping[str, str]
    """Environment variables, or headers, that are given as values."""
    url: str = ""
    body: str | None = None


def bind(step: Step, path: StepPath, outputs: tuple[Output, ...], view: View) -> Bound:
    """Evaluate the values of a step that runs something.

    Raises
    ------
    EvaluationError, WireError
        A value cannot be read.
    """
    action = step.action
    inputs = {given.name: bind_input(given, view) for given in step.inputs}
    words: tuple[str, ...] = ()
    variables: tuple[EnvVar, ...] = step.env
    url, body = "", None
    if isinstance(action, Container):
        words = tuple(resolve_text(word, view) for word in (*action.command, *action.args))
    elif isinstance(action, Http):
        variables = action.headers
        url = resolve_text(action.url, view)
        body = None if action.body is None else resolve_text(action.body, view)
    texts = {
        variable.name: resolve_text(variable.value, view)
        for variable in variables
        if variable.value is not None
    }
    return Bound(step, path, outputs, inputs, words, texts, url, body)


def attempt_pause(action: Suspend, limits: Limits) -> Attempt:
    """Wait for the seconds that a step asks for."""
    seconds = action.seconds or 0.0
    left = limits.remaining_s()
    limits.pause(seconds)
    if limits.stop.is_set():
        return Attempt(False, message=CANCELLED)
    if left is not None and left < seconds:
        return Attempt(False, message=OUT_OF_TIME, kind="failure")
    return Attempt(True)


def attempt_request(bound: Bound, action: Http, place: Place, limits: Limits) -> Attempt:
    """Make the HTTP request of a step."""
    try:
        response = send(
            bound.url,
            method=action.method,
            headers={**bound.texts, **entry_texts(action.headers, place.entries)},
            body=bound.body,
            deadline=limits.deadline,
            stop=limits.stop,
            keep_bytes=KEEP_BYTES,
        )
    except RequestError as error:
        return Attempt(False, message=str(error), kind="error")
    except TimeoutError:
        return Attempt(False, message=OUT_OF_TIME, kind="failure")
    except InterruptedError:
        return Attempt(False, message=CANCELLED)
    is_good = (
        response.code in action.success_codes
        if action.success_codes
        else 200 <= response.code < 300
    )
    if not is_good:
        told = f"{action.method} {bound.url} was answered with {response.code}"
        return Attempt(False, message=told, kind="failure")
    try:
        outputs = {
            output.name: read_output(response.body, output, what="the response")
            for output in bound.outputs
        }
    except VALUE_ERRORS as error:
        return Attempt(False, message=str(error), kind="error")
    return Attempt(True, outputs)


def entry_texts(variables: tuple[EnvVar, ...], entries: Entries) -> dict[str, str]:
    """Return the variables that are taken from secrets and config maps.

    Raises
    ------
    ConfigurationError
        An entry is missing.
    """
    found: dict[str, str] = {}
    for variable in variables:
        key = variable.secret or variable.config
        value = None if key is None else entries.require(key)
        if value is not None:
            found[variable.name] = value
    return found
