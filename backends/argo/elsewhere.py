"""Values and start rules of steps that read from, and wait for, steps in other templates."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet

from couler.backends.argo.branches import FAILED, LISTED, NOT_WELL, RAN_WELL, is_one_of
from couler.backends.argo.dags import StartRules, strictly_needed
from couler.backends.argo.references import OutputRenderer, Renderer
from couler.backends.argo.scope import TAG_SAFE, ScopeView, can_be_skipped
from couler.backends.argo.tags import decoding, member
from couler.ir.values import StepRef, Value
from couler.ir.walk import implied_dependencies
from couler.ir.workflow import Step

if t.TYPE_CHECKING:
    from couler.backends.argo.template_view import TemplateView

_TASK = re.compile(r"([a-zA-Z][-a-zA-Z0-9]*)(?:\.[a-zA-Z]+)?")

Edge: t.TypeAlias = t.Literal["success", "failure"]


class PartRenderer(Renderer):
    """Writes the values of the steps of one template of a divided scope."""

    def __init__(
        self, view: ScopeView, names: Mapping[str, str], location: str, around: TemplateView
    ) -> None:
        super().__init__(view, names, location)
        self._around = around

    def _is_elsewhere(self, name: str) -> bool:
        return name in self.view.steps and not self._around.is_here(name)

    def _simple(self, value: Value, step: Step | None) -> str | None:
        if isinstance(value, StepRef) and self._is_elsewhere(value.step):
            return None
        return super()._simple(value, step)

    def _kept(self, value: StepRef, *, optional: bool = False) -> str:
        if self._is_elsewhere(value.step):
            kept = self._around.value(value)
            return kept if self.view.type_of(value) in TAG_SAFE else decoding(kept)
        return super()._kept(value, optional=optional)

    def _kept_place(self, value: StepRef, own: str) -> str:
        if not self._is_elsewhere(value.step):
            return super()._kept_place(value, own)
        kept = self._around.value(value)
        return f"({kept} == '' ? {own} : {kept})"

    def kept_or_empty(self, reference: StepRef) -> str:
        """Return an expression for what Argo keeps of an output; empty if it was not made."""
        kept = self._guard()._kept(reference)
        if self.view.steps[reference.step].foreach is None:
            return kept
        # Of items that all failed or were skipped there is a text in the place of the parameters.
        made = member("tasks", self._task_names[reference.step], "outputs") + "?.parameters"
        listed, _, empty = kept.partition(" ?? ")
        return f"(type({made}) == 'map' ? {listed} : nil) ?? {empty}"

    def _is_plain(self, value: StepRef, step: Step | None) -> bool:
        return not self._is_elsewhere(value.step) and super()._is_plain(value, step)

    def _ran(self, value: StepRef) -> str:
        if not self._is_elsewhere(value.step):
            return super()._ran(value)
        if self._default_of(value) is not None:
            return "true"
        producer = self.view.steps[value.step]
        code = self._around.code(value.step)
        if producer.foreach is None:
            return is_one_of(RAN_WELL, code)
        ended_well = is_one_of(LISTED, code)
        if producer.when is None or not can_be_skipped(producer):
            return ended_well
        return f"{ended_well} && {self.condition(producer.when)}"


class PartOutputRenderer(PartRenderer, OutputRenderer):
    """Writes the outputs of a divided scope."""


class PartRules(StartRules):
    """Writes the `depends` of the steps of one template of a divided scope."""

    def __init__(
        self, steps: Mapping[str, Step], task_names: Mapping[str, str], around: TemplateView
    ) -> None:
        self._around = around
        super().__init__(steps, task_names)

    def _asking(self, steps: Mapping[str, Step]) -> AbstractSet[str]:
        return self._around.asks_for_failure

    def depends(self, step: Step) -> str:
        """Return the `depends` of a step's task."""
        known = (name for name in strictly_needed(step) if name in self._steps)
        needed = [name for name in known if not self._around.is_here(name)]
        if len(needed) < 2 or not self._around.has_joint_gates:
            return super().depends(step)
        joint = frozenset(needed)
        clauses = [self._clause(one) for one in step.depends_on if one not in joint]
        read = [name for name in implied_dependencies(step) if name not in joint]
        clauses += [self._success(name) for name in read if name in self._steps]
        clauses.append(f"{self._around.joint_gate(needed)}.Skipped")
        return " && ".join(dict.fromkeys(filter(None, clauses)))

    def _success(self, name: str) -> str:
        if self._around.is_here(name):
            return super()._success(name)
        return f"{self._around.gate(name, 'success')}.Skipped"

    def _failure(self, name: str) -> str:
        if self._around.is_here(name):
            return super()._failure(name)
        return f"{self._around.gate(name, 'failure')}.Skipped"

    def _end(self, name: str) -> str:
        if self._around.is_here(name):
            return ended([self._task_names[name]])
        return self._around.part_of(name) or ""

    def _any_of(self, clauses: Sequence[str]) -> str:
        if all(clauses):
            return super()._any_of(clauses)
        # One of the ends is there already: all others are waited for, however they are.
        return ended(tasks_in(" || ".join(filter(None, clauses))))


def tasks_in(depends: str) -> list[str]:
    """Return the tasks that a `depends` names."""
    return list(dict.fromkeys(_TASK.findall(depends)))


def ended(tasks: Iterable[str]) -> str:
    """Return a `depends` that any ends of tasks fulfil; empty for no tasks."""
    first, *others = [*tasks] or [""]
    return f"({' || '.join([first, f'!{first}', *others])})" if first else ""


def unfulfilled(edge: Edge, code: str) -> str:
    """Return an expression that tells whether a letter of an end does not fulfil an edge."""
    return is_one_of(NOT_WELL, code) if edge == "success" else f"!({is_one_of(FAILED, code)})"
