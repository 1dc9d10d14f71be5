"""Where workflows of answers may run: shut in, or not at all."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass

from couler.evaluation.items import Course
from couler.ir.workflow import Workflow


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run ended.

    Attributes
    ----------
    status
        Of the run; None if it came to no end.
    outputs
        Outputs of the workflow.
    states
        How many instances of steps ended in which state.
    message
        Why it failed.
    """

    status: str | None
    outputs: Mapping[str, t.Any]
    states: Mapping[str, int]
    message: str | None = None


class Runner(t.Protocol):
    """Runs workflows whose steps come from a model."""

    def problem(self, workflow: Workflow) -> str | None:
        """Return why a workflow may not run here, or None if it may."""
        ...

    def run(self, workflow: Workflow, course: Course) -> Ran:
        """Run a workflow of which `problem` says nothing."""
        ...


class BoxRunner:
    """Runs workflows in the box: see `couler.box.running`."""

    def problem(self, workflow: Workflow) -> str | None:
        """Return why runs cannot be shut in here, or None if they can."""
        from couler.box.running import running_problem

        del workflow  # the walls are the same for all
        return running_problem()

    def run(self, workflow: Workflow, course: Course) -> Ran:
        """Run a workflow in the box."""
        from couler.box.running import run_boxed

        done = run_boxed(workflow, course.parameters)
        return Ran(done.status, done.outputs, done.states, done.message)


class NoRunner:
    """Runs nothing; `problem` says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def problem(self, workflow: Workflow) -> str | None:
        """Return why nothing runs."""
        del workflow
        return self._why

    def run(self, workflow: Workflow, course: Course) -> Ran:
        """Refuse."""
        raise AssertionError(f"nothing may run: {self._why}")
