"""How branches of a scope end, as letters in expressions of Argo (docs/semantics.md, section 4)."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Mapping

from couler.backends.argo.dags import is_success
from couler.backends.argo.scope import can_be_skipped
from couler.ir.policies import AnyOf, Dependency
from couler.ir.walk import implied_dependencies, predecessors
from couler.ir.workflow import Step

WELL = "ukKlL"
"""Letters of ends that fulfil an edge that asks for success."""

RAN_WELL = "u"
LISTED = "ukK"
"""Letters of a foreach that may have lists: Argo calls one skipped that has no items."""

FAILED = "ar"
"""Letters of a failure and of an error."""

NOT_WELL = FAILED + "m"
BRANCH_FAILED = NOT_WELL + "KL"
"""Letters of steps whose branch is failed."""

ENDS: Mapping[str, str] = {
    "u": "Succeeded, or a daemon that runs",
    "k": "Skipped",
    "K": "Skipped below a failure",
    "l": "Omitted, as it asked for a failure and met none: skipped, for all that wait",
    "L": "the same below a failure",
    "a": "Failed",
    "r": "Error",
    "m": "Omitted",
}
"""The letter for an end: the second one of Argo's phase, which differs for all."""

Code: t.TypeAlias = Callable[[str], str]
"""From the name of a step to an expression for the letter of its end."""


def letter(status: str) -> str:
    """Return an expression for the letter of a phase."""
    return f"{status}[1:2]"


def is_one_of(letters: str, code: str) -> str:
    """Return an expression that tells whether a letter is among some."""
    return f"{code} == '{letters}'" if len(letters) == 1 else f"'{letters}' contains {code}"


class Branches:
    """Tells which steps of a scope have more to their end than Argo's phase, and what."""

    def __init__(self, steps: Mapping[str, Step], order: tuple[str, ...]) -> None:
        self._steps = steps
        waited_for: set[str] = set()
        self.asks_for_failure: set[str] = set()
        """The steps that Argo calls omitted when they are skipped."""
        self._soft: set[str] = set()
        for name in order:
            step = steps[name]
            before = predecessors(step)
            waited_for.update(before)
            if any(map(_asks_for_failure, step.depends_on)):
                self.asks_for_failure.add(name)
            if can_be_skipped(step) and self._may_stand_below_failure(step):
                self._soft.add(name)
        self.leaves = tuple(name for name in steps if name not in waited_for)
        """The steps that none waits for."""

    def _may_stand_below_failure(self, step: Step) -> bool:
        if any(not isinstance(entry, str) for entry in step.depends_on):
            return True
        return any(name in self._soft for name in predecessors(step))

    def is_plain(self, name: str) -> bool:
        """Return whether the phase of a step tells how it and its branch ended."""
        return name not in self.asks_for_failure and name not in self._soft

    def code(self, name: str, status: str, code: Code) -> str:
        """Return an expression for the letter of a step's end."""
        own = letter(status)
        if self.is_plain(name):
            return own
        step = self._steps[name]
        before = [one for one in predecessors(step) if one in self._steps]
        below = " || ".join(is_one_of(BRANCH_FAILED, code(one)) for one in before) or "false"
        needs = self._needs(step, code)
        skipped = f"({below} ? 'K' : 'k')"
        if step.foreach is not None:  # other steps have nothing to read in either case
            left_out = f"({below} ? 'L' : 'l')"
            skipped = f"({is_one_of('k', own)} ? {skipped} : {left_out})"
        if needs:
            skipped = f"({' && '.join(needs)} ? {skipped} : 'm')"
        return f"({is_one_of('km', own)} ? {skipped} : {own})"

    def _needs(self, step: Step, code: Code) -> list[str]:
        """What holds unless the step is omitted."""

        def met(option: str | Dependency) -> str:
            assert isinstance(option, str), "only edges that ask for success are looked at"
            return is_one_of(WELL, code(option))

        found: list[str] = []
        for entry in step.depends_on:
            if not is_success(entry):
                continue
            options = entry.options if isinstance(entry, AnyOf) else (t.cast("str", entry),)
            found.append("(" + " || ".join(map(met, options)) + ")")
        found += [met(name) for name in implied_dependencies(step) if name in self._steps]
        return found


def _asks_for_failure(entry: str | Dependency | AnyOf) -> bool:
    options = entry.options if isinstance(entry, AnyOf) else (entry,)
    return any(isinstance(option, Dependency) and option.on == "failure" for option in options)
