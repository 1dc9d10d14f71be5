"""Whether a run of a rewritten workflow came to the same, told by the user's own steps."""

from __future__ import annotations

import re
import typing as t
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from couler.ir.grouped import GROUPED
from couler.ir.semantics.outputs import Instance
from couler.ir.walk import HANDLER_PREFIX, StepPath, steps_by_path
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.pipeline import PassLog
from tests.support.dry_runs import Outcome

_INDEXES = re.compile(r"\[\d+\]|@\d+")


def assert_same_outcome(
    workflow: Workflow, before: Outcome, planned: Workflow, after: Outcome, log: PassLog
) -> None:
    """Compare two runs, at the paths of the workflow before the passes.

    What a pass says of the sources of its steps is what leads from a path to the one that it has
    become: `couler.optimizers.pipeline.PassLog.source_steps`.
    """
    assert after.status == before.status
    assert after.outputs == before.outputs
    told = _Translation(workflow, planned, log).told(before.steps, after.steps)
    assert told == before.steps


@dataclass(frozen=True)
class _Place:
    """Where a step is found in the results of the rewritten workflow."""

    path: str
    """As results show it, without items and rounds."""
    step: Step
    sources: tuple[str, ...]


class _Translation:
    def __init__(self, workflow: Workflow, planned: Workflow, log: PassLog) -> None:
        self._before = dict(steps_by_path(workflow))
        self._places: dict[str, list[_Place]] = {}
        for path, step, shown in _shown(planned):
            sources = log.source_steps(path)
            for source in sources:
                self._places.setdefault(source, []).append(_Place(shown, step, sources))

    def told(
        self,
        before: Mapping[str, tuple[str, t.Any]],
        after: Mapping[str, tuple[str, t.Any]],
    ) -> dict[str, tuple[str, t.Any]]:
        """Return the results after the passes at the paths before, and what else there is."""
        found: dict[str, tuple[str, t.Any]] = {}
        used: set[str] = set()
        for path in before:
            for there in self._candidates(path):
                if there in after:
                    found[path] = after[there]
                    used.add(there)
                    used |= set(self._around(path))
                    break
        wholes = {re.sub(r"\[\d+\]$", "", path) for path in used}
        return found | {path: end for path, end in after.items() if path not in used | wholes}

    def _candidates(self, path: str) -> Iterator[str]:
        """Yield where a result may be, the likeliest first."""
        names = _INDEXES.sub("", path)
        places = self._places.get(names, [])
        for place in places:
            if place.step.origin == GROUPED:  # it tells of the steps inside by their own paths
                yield path
            yield from self._at(place, names, path)
        if not places:
            yield path  # exit handlers

    def _around(self, path: str) -> Iterator[str]:
        """Yield the places of the steps that run a step inside."""
        for place in self._places.get(names := _INDEXES.sub("", path), []):
            if place.step.origin == GROUPED:
                yield from self._at(place, names, path)

    def _at(self, place: _Place, names: str, path: str) -> Iterator[str]:
        parts, there = StepPath.parse(path), StepPath.parse(place.path)
        if len(parts) != len(there):
            return
        moved = StepPath(
            part._replace(name=other.name) for part, other in zip(parts, there, strict=True)
        )
        if place.step.foreach is not None and self._before[names].foreach is None:
            yield str(moved.at_item(place.sources.index(names)))
        yield str(moved)


def _shown(workflow: Workflow) -> Iterator[tuple[str, Step, str]]:
    """Yield every step with its path, and the path that results show."""
    yield from _shown_below(workflow.steps, "", "")
    for handler in workflow.exit_handlers:
        prefix = f"{HANDLER_PREFIX}{handler.name}/"
        yield from _shown_below(handler.steps, prefix, prefix)


def _shown_below(
    steps: tuple[Step, ...], prefix: str, shown: str
) -> Iterator[tuple[str, Step, str]]:
    for step in steps:
        is_shown = Instance(step, StepPath(), ()).is_shown
        if is_shown:
            yield f"{prefix}{step.name}", step, f"{shown}{step.name}"
        if isinstance(step.action, Group):
            inside = f"{shown}{step.name}/" if is_shown else shown
            yield from _shown_below(step.action.steps, f"{prefix}{step.name}/", inside)
