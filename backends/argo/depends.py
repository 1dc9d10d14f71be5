"""Start rules as Argo's `depends` logic (docs/semantics.md, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from couler.ir.policies import AnyOf, Dependency
from couler.ir.walk import implied_dependencies, predecessors
from couler.ir.workflow import Step

ENDED = ("Succeeded", "Skipped", "Daemoned", "Failed", "Errored", "Omitted")


class StartRules:
    """Writes the `depends` of the steps of one scope."""

    def __init__(self, steps: Mapping[str, Step], task_names: Mapping[str, str]) -> None:
        self._steps = steps
        self._task_names = task_names
        self._asks_for_failure = self._asking(steps)

    def _asking(self, steps: Mapping[str, Step]) -> AbstractSet[str]:
        """The steps that Argo may call omitted when they are skipped."""
        return {
            name
            for name, step in steps.items()
            if step.depends_on and any(not is_success(entry) for entry in step.depends_on)
        }

    def depends(self, step: Step) -> str:
        """Return the `depends` of a step's task; empty for a step that waits for none."""
        clauses = [self._clause(entry) for entry in step.depends_on]
        read = implied_dependencies(step)
        if read:
            clauses += [self._success(name) for name in read if name in self._steps]
        if len(clauses) == 1:
            return clauses[0]
        return " && ".join(dict.fromkeys(filter(None, clauses)))

    def after_all(self) -> str:
        """Return the `depends` of a task that runs when all steps of the scope have ended well."""
        waited_for = {name for step in self._steps.values() for name in predecessors(step)}
        return " && ".join(self._success(name) for name in self._steps if name not in waited_for)

    def _clause(self, entry: str | Dependency | AnyOf) -> str:
        if isinstance(entry, str):
            return self._success(entry)
        if isinstance(entry, AnyOf):
            return self._any_of([self._clause(option) for option in entry.options])
        return self._failure(entry.step) if entry.on == "failure" else self._end(entry.step)

    def _any_of(self, clauses: Sequence[str]) -> str:
        return "(" + " || ".join(clauses) + ")"

    def _failure(self, name: str) -> str:
        task = self._task_names[name]
        return f"({task}.Failed || {task}.Errored)"

    def _end(self, name: str) -> str:
        task = self._task_names[name]
        return "(" + " || ".join(f"{task}.{state}" for state in ENDED) + ")"

    def _success(self, name: str) -> str:
        """Met by success and by a skip."""
        task = self._task_names[name]
        if name not in self._asks_for_failure:
            return task
        step = self._steps[name]
        needs = [self._clause(entry) for entry in step.depends_on if is_success(entry)]
        needs += [
            self._success(other) for other in implied_dependencies(step) if other in self._steps
        ]
        omitted = " && ".join([f"{task}.Omitted", *needs])
        if needs:
            omitted = f"({omitted})"
        states = " || ".join(f"{task}.{state}" for state in ("Succeeded", "Skipped", "Daemoned"))
        return f"({states} || {omitted})"


def is_success(entry: str | Dependency | AnyOf) -> bool:
    """Return whether an entry of `depends_on` asks for nothing but successes."""
    if isinstance(entry, str):  # most are, and an isinstance that says no takes longer
        return True
    return isinstance(entry, AnyOf) and all(isinstance(option, str) for option in entry.options)
