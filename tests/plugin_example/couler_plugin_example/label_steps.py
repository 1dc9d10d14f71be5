"""A pass that puts a label on every step."""

from __future__ import annotations

import typing as t
from dataclasses import dataclass

from couler.ir.base import FrozenDict
from couler.ir.workflow import Workflow
from couler.optimizers.base import PassContext


@dataclass(frozen=True)
class LabelSteps:
    """Put a label on the steps of the outermost scope.

    Before: any valid workflow. After: each of its own steps has the label. Preserved: all else.
    O(n) for n steps.

    Attributes
    ----------
    key
        Name of the label; its value is the step's name.
    """

    name: t.ClassVar[str] = "label-steps"
    key: str = "step"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the workflow with labels."""
        steps = tuple(
            step.model_copy(update={"labels": FrozenDict({**step.labels, self.key: step.name})})
            for step in workflow.steps
        )
        context.explain(f"{len(steps)} steps can now be found by their label {self.key}.")
        return workflow.model_copy(update={"steps": steps})
