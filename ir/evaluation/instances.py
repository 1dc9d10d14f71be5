"""Instances of steps: a step at its place in a run, and what it reads there."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from couler.errors import MissingOutputError
from couler.ir.evaluation.outputs import default_outputs
from couler.ir.evaluation.values import Outputs, Single, Stored, View, bind_input
from couler.ir.walk import StepPath
from couler.ir.workflow import Group, Output, Step

RUNS = sys.maxsize
"""In the place of an ordinal: later than everything that earlier sessions have recorded."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A step at its place in the run."""

    step: Step
    path: StepPath
    outputs: tuple[Output, ...]

    @property
    def is_shown(self) -> bool:
        """Whether it has a place in the results; a group that a pass made has none."""
        step = self.step
        if not (isinstance(step.action, Group) and step.action.transparent):
            return True
        return not (step.foreach is None and step.loop is None and step.retry is None)

    @property
    def is_whole_list(self) -> bool:
        """Whether it is a foreach as a whole, not one of its items."""
        return self.step.foreach is not None and self.path[-1].item is None

    @property
    def is_whole(self) -> bool:
        """Whether it stands for items or rounds, which run in its place."""
        is_whole_loop = self.step.loop is not None and self.path[-1].round is None
        return self.is_whole_list or is_whole_loop

    def at(self, path: StepPath) -> Instance:
        """Return an item or a round of this instance."""
        return replace(self, path=path)


def bind_inputs(step: Step, view: View) -> dict[str, Stored]:
    """Return the values of a step's inputs; that of an optional one need not be there."""
    found: dict[str, Stored] = {}
    for given in step.inputs:
        if given.at is not None:
            continue
        try:
            stored = bind_input(given, view)
        except MissingOutputError:
            if not given.optional:
                raise
        else:
            if not (given.optional and stored == Single("null", given.type)):
                found[given.name] = stored
    return found


def readable_defaults(instance: Instance) -> Outputs:
    """Return what can be read of an instance that gave nothing."""
    return {} if instance.is_whole_list else default_outputs(instance.outputs)
