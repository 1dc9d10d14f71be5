"""The log of a pipeline: what each pass did and why, and the way back to the source steps."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import scopes, steps_by_path
from couler.ir.workflow import Workflow

if t.TYPE_CHECKING:
    from couler.optimizers.diff import Change
    from couler.optimizers.estimate import Figure, StepTimes


@dataclass(frozen=True, slots=True)
class Size:
    """How large a workflow is: steps at every level, edges between them, bytes as compact JSON."""

    steps: int
    edges: int
    size_bytes: int


def measure(workflow: Workflow) -> Size:
    """Return the size of a workflow."""
    from couler.ir.graph import Graph
    from couler.ir.serialize import write_json

    steps = edges = 0
    for scope in scopes(workflow):
        steps += len(scope.steps)
        edges += sum(map(len, Graph.of(scope.steps).predecessors.values()))
    return Size(steps, edges, len(write_json(workflow, indent=None).encode()))


@dataclass(frozen=True)
class PassRecord:
    """What one pass did."""

    name: str
    options: Mapping[str, t.Any]
    seconds: float
    reason: str
    derived: Mapping[str, tuple[str, ...]]
    before: Workflow
    after: Workflow
    step_reasons: Mapping[str, str] = field(default_factory=dict)
    verify_seconds: float = 0.0
    errors: tuple[Diagnostic, ...] = ()
    defaults: frozenset[str] = frozenset()
    item_steps: frozenset[str] = frozenset()
    gave_up: tuple[str, ...] = ()
    facts: Mapping[str, t.Any] = field(default_factory=dict)
    cost: Figure | None = None
    times: StepTimes | None = None
    made_times: StepTimes = field(default_factory=dict)
    times_before: StepTimes = field(default_factory=dict)

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """What is different after the pass."""
        from couler.optimizers.diff import diff

        return diff(self.before, self.after, self.derived)

    @cached_property
    def known_times(self) -> StepTimes:
        """How long steps take after the pass, by what it and those before it know."""
        from couler.optimizers.estimate import times_after

        return times_after(self)

    @cached_property
    def size_before(self) -> Size:
        """Size of the workflow that the pass was given."""
        return measure(self.before)

    @cached_property
    def size_after(self) -> Size:
        """Size of the workflow that the pass returned."""
        return self.size_before if self.after is self.before else measure(self.after)

    @cached_property
    def sources(self) -> dict[str, tuple[str, ...]]:
        """For each step after the pass, the steps before it that it comes from."""
        from couler.optimizers.diff import Moved

        known = {path for path, _ in steps_by_path(self.before)}
        moved = {change.to: change.step for change in self.changes if isinstance(change, Moved)}
        found: dict[str, tuple[str, ...]] = {}
        for path, _ in steps_by_path(self.after):
            if path in self.derived:
                found[path] = self.derived[path]
            elif path in moved:
                found[path] = (moved[path],)
            else:
                found[path] = (path,) if path in known else ()
        return found

    @cached_property
    def results(self) -> dict[str, tuple[str, ...]]:
        """For each step before the pass, the steps after it that come from it."""
        found: dict[str, list[str]] = {path: [] for path, _ in steps_by_path(self.before)}
        for path, sources in self.sources.items():
            for source in sources:
                found.setdefault(source, []).append(path)
        return {path: tuple(results) for path, results in found.items()}

    def reason_of(self, change: Change) -> str:
        """Return what the pass said of one change, or an empty text."""
        from couler.optimizers.diff import path_of

        path = path_of(change)
        return "" if path is None else self.step_reasons.get(path, "")

    def to_json(self) -> dict[str, t.Any]:
        """Return the record as JSON, the workflows left out."""
        from couler.optimizers.diff import change_to_json

        return {
            "pass": self.name,
            "options": {name: _plain(value) for name, value in self.options.items()},
            "seconds": self.seconds,
            "verify_seconds": self.verify_seconds,
            "reason": self.reason,
            "changes": [
                {**change_to_json(change), **({"reason": why} if why else {})}
                for change, why in ((one, self.reason_of(one)) for one in self.changes)
            ],
            "step_reasons": dict(self.step_reasons),
            "facts": dict(self.facts),
            "sources": {
                path: list(sources) for path, sources in self.sources.items() if sources != (path,)
            },
        }


@dataclass(frozen=True)
class PassLog:
    """What all passes of a pipeline did, in order."""

    records: tuple[PassRecord, ...] = ()
    pipeline: str | None = None

    def source_steps(self, path: str) -> tuple[str, ...]:
        """Return the steps of the user's workflow that a step of the result comes from."""
        paths: tuple[str, ...] = (path,)
        for record in reversed(self.records):
            found = (source for name in paths for source in record.sources.get(name, ()))
            paths = tuple(dict.fromkeys(found))
        return paths

    def result_steps(self, path: str) -> tuple[str, ...]:
        """Return what became of a step of the user's workflow."""
        paths: tuple[str, ...] = (path,)
        for record in self.records:
            found = (result for name in paths for result in record.results.get(name, ()))
            paths = tuple(dict.fromkeys(found))
        return paths

    def to_json(self) -> list[dict[str, t.Any]]:
        """Return the records as JSON."""
        return [record.to_json() for record in self.records]


def _plain(value: object) -> object:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    return str(value)
