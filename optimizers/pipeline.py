"""Passes in a row, each checked: the first that breaks a workflow is named."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from couler.errors import InvalidWorkflowError
from couler.ir.diagnostics import Diagnostic
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.optimizers.base import Pass, PassContext, options_of
from couler.optimizers.log import PassLog, PassRecord

Callback = Callable[[PassRecord], None]
"""Is called after each pass: for timing, dumps, differences."""


@dataclass(frozen=True)
class Pipeline:
    """Passes that run one after the other.

    Attributes
    ----------
    passes
        The passes in order.
    callbacks
        Each is called with the record of each pass, in order.
    """

    passes: tuple[Pass, ...] = ()
    callbacks: tuple[Callback, ...] = ()

    def run(
        self,
        workflow: Workflow,
        *,
        engine: str | None = None,
        profile: str | None = None,
        verified: bool = False,
    ) -> tuple[Workflow, PassLog]:
        """Run the passes, and verify before the first and after each.

        Parameters
        ----------
        workflow
            The workflow to rewrite.
        engine, profile
            What the result is for; None for any.
        verified
            The caller has verified the workflow, so it need not be verified again.

        Returns
        -------
        tuple of (Workflow, PassLog)
            The rewritten workflow and what each pass did. Without passes, the workflow itself
            and an empty log.

        Raises
        ------
        InvalidWorkflowError
            The workflow has errors, or a pass made one that has; the pass is named.
        """
        if not self.passes:
            return workflow, PassLog()
        if not verified:
            _refuse_errors("the workflow is not valid", verify(workflow))
        records: list[PassRecord] = []
        for pass_ in self.passes:
            record = _run_one(pass_, workflow, PassContext(engine=engine, profile=profile))
            records.append(record)
            workflow = record.after
            for callback in self.callbacks:
                callback(record)
        return workflow, PassLog(tuple(records))


def default_pipeline() -> Pipeline:
    """Return the passes that a plan runs unless others are asked for: none so far."""
    return Pipeline()


def _run_one(pass_: Pass, workflow: Workflow, context: PassContext) -> PassRecord:
    start = time.perf_counter()
    after = pass_.run(workflow, context)
    seconds = time.perf_counter() - start
    if after is not workflow:
        _refuse_errors(f'the pass "{pass_.name}" made a workflow that is not valid', verify(after))
    return PassRecord(
        name=pass_.name,
        options=options_of(pass_),
        seconds=seconds,
        reason=context.reason,
        derived=context.derived,
        before=workflow,
        after=after,
    )


def _refuse_errors(message: str, diagnostics: Sequence[Diagnostic]) -> None:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        raise InvalidWorkflowError(message, errors)
