"""What steps ask people for, and the commands that answer."""

from __future__ import annotations

from couler.cli._again import Again
from couler.ir.paths import StepPath
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Suspend, Workflow


class Questions:
    """What the steps of a workflow ask people for."""

    def __init__(self, workflow: Workflow, again: Again) -> None:
        self._again = again
        self._steps = {
            path: step for path, step in steps_by_path(workflow) if isinstance(step.action, Suspend)
        }

    def text(self, path: StepPath) -> str | None:
        """Return what a step asks; None if its author has not said."""
        step = self._steps.get(_names(path))
        return step.action.message if step and isinstance(step.action, Suspend) else None

    def answer(self, run: str, path: StepPath) -> str:
        """Return the command that answers, with a place for each value that must be entered."""
        step = self._steps.get(_names(path))
        outputs = () if step is None else step.outputs
        missing = [one.name for one in outputs if one.default is None]
        return self._again.resume(run, str(path), missing)

    def note(self, run: str, path: StepPath) -> str:
        """Return both, in a line."""
        return "  ".join(filter(None, (self.text(path), self.answer(run, path))))


def _names(path: StepPath) -> str:
    return "/".join(part.name for part in path)
