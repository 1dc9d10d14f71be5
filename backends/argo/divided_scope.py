"""A scope whose steps are in parts: what the templates of the scope and of its parts share."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Sequence

from couler.backends.argo.branches import Branches
from couler.backends.argo.elsewhere import PartRules
from couler.backends.argo.names import Names
from couler.backends.argo.parts import divide, task_names
from couler.backends.argo.pods import Tree
from couler.backends.argo.references import Renderer
from couler.backends.argo.scope import ScopeView
from couler.backends.argo.scope_order import passes_of
from couler.ir.walk import predecessors
from couler.ir.workflow import Step

MakeTask: t.TypeAlias = Callable[[Step, str, PartRules, Renderer], Tree]


class DividedScope:
    """What all templates of one divided scope share."""

    def __init__(
        self,
        view: ScopeView,
        steps: Sequence[Step],
        location: str,
        inputs: Sequence[str],
        template_names: Names,
        make_task: MakeTask,
        *,
        tells_kinds: bool,
    ) -> None:
        self.tells_kinds = tells_kinds
        self._template_names = template_names
        self._gates = 0
        self.view = view
        self.location = location
        self.inputs = inputs
        self.make_task = make_task
        self.task_names, self.names = task_names(steps)
        self.before = {
            step.name: tuple(one for one in predecessors(step) if one in view.steps)
            for step in steps
        }
        self.position = {name: index for index, name in enumerate(self.before)}
        passes = passes_of(self.before)
        order = tuple(sorted(self.before, key=passes.__getitem__))
        self.branches = Branches(view.steps, order)
        self.division = divide(steps, self.names)
        self.ends = self.names.take("ends")

    def take_gate(self) -> str:
        """Return a name for a gate."""
        self._gates += 1
        return self.names.take(f"g{self._gates}")

    def take_template(self, wanted: str) -> str:
        """Return a name for the template of a part."""
        return self._template_names.take(wanted)
