"""Passes in a row, each checked: the first that breaks a workflow is named."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from couler.errors import ConfigurationError, InvalidWorkflowError
from couler.ir.diagnostics import Diagnostic
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.optimizers.base import (
    History,
    Kept,
    Machines,
    Pass,
    PassContext,
    Refusals,
    Timings,
    Tuned,
    Weigh,
    defaults_of,
    options_of,
)
from couler.optimizers.log import PassLog, PassRecord
from couler.optimizers.registry import built_in_pass

_DEFAULT_PASSES: tuple[str, ...] = ("split",)
"""Names of passes of Couler's own, in order."""

Callback = Callable[[PassRecord], None]
"""Is called after each pass: for timing, dumps, differences. After a pass that broke the workflow,
too; the record then has errors."""


@dataclass(frozen=True)
class Pipeline:
    """Passes that run one after the other."""

    passes: tuple[Pass, ...] = ()
    callbacks: tuple[Callback, ...] = ()
    name: str | None = None

    def __iter__(self) -> Iterator[Pass]:
        """Yield the passes in order."""
        return iter(self.passes)

    def run(
        self,
        workflow: Workflow,
        *,
        engine: str | None = None,
        profile: str | None = None,
        weigh: Weigh | None = None,
        refusals: Refusals | None = None,
        history: History | None = None,
        timings: Timings | None = None,
        cluster: Machines | None = None,
        kept: Kept | None = None,
        tuned: Tuned | None = None,
        verified: bool = False,
    ) -> tuple[Workflow, PassLog]:
        """Run the passes, and verify before the first and after each."""
        if not self.passes:
            return workflow, PassLog(pipeline=self.name)
        if not verified:
            errors = _errors(verify(workflow))
            if errors:
                raise InvalidWorkflowError("the workflow is not valid", errors)
        records: list[PassRecord] = []
        for pass_ in self.passes:
            context = PassContext(
                engine=engine,
                profile=profile,
                weigh=weigh,
                refusals=refusals,
                history=history,
                timings=timings,
                cluster=cluster,
                kept=kept,
                tuned=tuned,
                known_times=records[-1].known_times if records else {},
            )
            record = _run_one(pass_, workflow, context)
            records.append(record)
            workflow = record.after
            for callback in self.callbacks:
                callback(record)
            if record.errors:
                message = f'the pass "{record.name}" made a workflow that is not valid'
                raise InvalidWorkflowError(message, record.errors)
        return workflow, PassLog(tuple(records), self.name)


def default_names() -> tuple[str, ...]:
    """Return the names of the passes that a plan runs unless others are asked for."""
    return _DEFAULT_PASSES


def default_pipeline() -> Pipeline:
    """The passes that a plan runs unless others are asked for: those of `_DEFAULT_PASSES`."""
    return Pipeline(tuple(map(built_in_pass, _DEFAULT_PASSES)))


def _run_one(pass_: Pass, workflow: Workflow, context: PassContext) -> PassRecord:
    start = time.perf_counter()
    after = _result(pass_, workflow, context)
    done = time.perf_counter()
    errors = () if after is workflow else _errors(verify(after))
    return PassRecord(
        name=pass_.name,
        options=options_of(pass_),
        seconds=done - start,
        reason=context.reason,
        derived=context.derived,
        gave_up=tuple(context.gave_up),
        facts=context.facts,
        cost=context.cost,
        times=context.times,
        made_times=context.made_times,
        times_before=context.known_times,
        before=workflow,
        after=after,
        step_reasons=context.step_reasons,
        verify_seconds=time.perf_counter() - done,
        errors=errors,
        defaults=defaults_of(pass_),
        item_steps=frozenset(context.item_steps),
    )


def _result(pass_: Pass, workflow: Workflow, context: PassContext) -> Workflow:
    try:
        after: object = pass_.run(workflow, context)
    except Exception as error:
        error.add_note(
            f'It happened in the pass "{pass_.name}"; --no-pass {pass_.name} leaves it out'
        )
        raise
    if not isinstance(after, Workflow):
        raise ConfigurationError(
            f'the pass "{pass_.name}" gave {type(after).__name__}, not a workflow. Mend it, or '
            f"leave it out: --no-pass {pass_.name}"
        )
    return after


def _errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity == "error")
