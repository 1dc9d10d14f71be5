"""Runs by the local engine's interpreter in which no process starts.

What a step gives, and whether it fails, is worked out from what it would have run: equal words,
inputs and variables give equal ends, whatever the step is called and wherever it stands.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import typing as t
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from couler.backends.local.capacity import Capacity
from couler.backends.local.demand import Grant
from couler.backends.local.dispatch import Dispatcher
from couler.backends.local.earlier import Earlier
from couler.backends.local.ends import Attempt, Bound
from couler.backends.local.interpret import Interpreter
from couler.backends.local.limits import Limits
from couler.backends.local.locks import Hold, Locks
from couler.backends.local.recording import Recorder
from couler.backends.local.reuse import Known, Reuse, StepKeys
from couler.backends.local.session import Session
from couler.ir.defaults import resolve_defaults
from couler.ir.semantics.outputs import default_of
from couler.ir.semantics.values import RunFacts, Single, to_text
from couler.ir.values import ValueType
from couler.ir.workflow import Output, Script, Workflow

_NOWHERE = Path("/nowhere")
_GIVEN: dict[ValueType, tuple[object, ...]] = {
    "str": ("x", "y", "2", "none", "long"),
    "int": (0, 1, 2, 3),
    "float": (0.5, 2.0),
    "bool": (True, False),
    "list": ([], [1], [1, 2], ["x", "y"], [2, 3, 1]),
    "dict": ({}, {"k": 1}, {"k": "x"}),
    "json": (1, "x", [2], {"k": 2}, None),
}


@dataclass(frozen=True)
class Outcome:
    """What a run came to: its status and outputs, and state and outputs at every path."""

    status: str
    outputs: t.Mapping[str, object]
    steps: t.Mapping[str, tuple[str, t.Mapping[str, object]]]

    @property
    def is_well(self) -> bool:
        """Whether nothing failed or was omitted."""
        return not {"failed", "omitted"} & {state for state, _ in self.steps.values()}


def run_dry(workflow: Workflow, parameters: t.Mapping[str, Single] | None = None) -> Outcome:
    """Return what a run of a workflow comes to; it has values only, no files."""
    result = asyncio.run(_run(resolve_defaults(workflow), parameters or {}))
    steps = {path: (step.status, step.outputs) for path, step in result.steps.items()}
    return Outcome(result.status, result.outputs, steps)


async def _run(workflow: Workflow, parameters: t.Mapping[str, Single]) -> t.Any:
    recorder = Recorder(
        t.cast("t.Any", _NoJournal()),
        log_of=lambda path: "",
        where=lambda text: text,
        on_event=lambda event: None,
    )
    interpreter = Interpreter(
        Dispatcher(Capacity(64, 64.0, 2**40), Locks(_NOWHERE)),
        _Attempter(),
        recorder,
        Reuse(recorder, Known(Earlier({}, lambda text: True), StepKeys((), in_images=True))),
        lambda lock: Hold(str(lock)),
    )
    session = Session(
        workflow,
        parameters,
        RunFacts("run-1", "2026-01-02T03:04:05+00:00"),
        datetime(2026, 1, 2, tzinfo=UTC),
        t.cast("t.Any", _Nowhere()),
        recorder,
        interpreter,
        t.cast("t.Any", _NoInterrupts()),
    )
    return await session.run()


class _Attempter:
    """Makes up what steps give."""

    async def attempt(self, bound: Bound, number: int, limits: Limits, grant: Grant) -> Attempt:
        """End as all that runs the same ends."""
        action = bound.step.action
        text = json.dumps(
            [
                bound.words,
                action.source if isinstance(action, Script) else "",
                bound.url,
                sorted(bound.texts.items()),
                sorted((name, to_text(given)) for name, given in bound.inputs.items()),
            ]
        )
        dice = hashlib.sha256(text.encode()).digest()
        if "exit 1" in text and dice[0] < 150:
            return Attempt(False, message="it failed", exit_code=1, kind="failure")
        outputs = {one.name: _value(one, dice[1 + n]) for n, one in enumerate(bound.outputs)}
        return Attempt(True, outputs)


def _value(output: Output, dice: int) -> Single:
    if output.default is not None and dice % 4 == 0:
        return default_of(output)
    choices = _GIVEN[output.type]
    given = choices[dice % len(choices)]
    text = given if isinstance(given, str) and output.type == "str" else json.dumps(given)
    return Single(text, output.type)


class _NoJournal:
    """Takes every note and keeps none."""

    run_id = "run-1"
    session = 1

    def __getattr__(self, name: str) -> t.Callable[..., None]:
        return lambda *args, **options: None


class _NoInterrupts:
    def bind(self, loop: object, interrupt: object) -> None:
        """Hear nothing."""

    def unbind(self) -> None:
        """Hear nothing any more."""


class _Nowhere:
    """A run without a folder or a store."""

    folder = _NOWHERE
    store = None
