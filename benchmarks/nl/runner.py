"""Where workflows of answers may run: shut in, or not at all."""

from __future__ import annotations

import typing as t

from benchmarks.nl.items import Course
from couler.box.running import BoxedRun, run_boxed, running_problem
from couler.ir.workflow import Workflow


class Runner(t.Protocol):
    """Runs workflows whose steps come from a model."""

    def problem(self, workflow: Workflow) -> str | None:
        """Return why a workflow may not run here, or None if it may."""
        ...

    def run(self, workflow: Workflow, course: Course) -> BoxedRun:
        """Run a workflow of which `problem` says nothing."""
        ...


class BoxRunner:
    """Runs workflows in the box: see `couler.box.running`."""

    def problem(self, workflow: Workflow) -> str | None:
        """Return why runs cannot be shut in here, or None if they can."""
        del workflow  # the walls are the same for all
        return running_problem()

    def run(self, workflow: Workflow, course: Course) -> BoxedRun:
        """Run a workflow in the box."""
        return run_boxed(workflow, course.parameters)


class NoRunner:
    """Runs nothing; `problem` says why."""

    def __init__(self, why: str) -> None:
        self._why = why

    def problem(self, workflow: Workflow) -> str | None:
        """Return why nothing runs."""
        del workflow
        return self._why

    def run(self, workflow: Workflow, course: Course) -> BoxedRun:
        """Refuse."""
        raise AssertionError(f"nothing may run: {self._why}")
