"""What holds for a scope of a run, and what its steps need not do, decided on together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from couler.backends.local.cache import Found
from couler.backends.local.demand import Lane
from couler.backends.local.ends import End
from couler.backends.local.limits import Limits
from couler.ir.semantics.foresight import (
    Foresight,
    Look,
    Progress,
    Verdict,
    is_foreseeable,
)
from couler.ir.semantics.outputs import Instance
from couler.ir.semantics.values import Outputs, View
from couler.ir.walk import StepPath
from couler.state.records import StepRecord


@dataclass(frozen=True, slots=True)
class Sighting:
    """What is known of an instance before it has come up."""

    key: str
    end: End
    is_kept: bool
    record: StepRecord | None = None
    found: Found | None = None

    @property
    def outputs(self) -> Outputs:
        """Outputs of the step."""
        return self.end.outputs

    @property
    def since(self) -> int:
        """Ordinal of its end."""
        return self.end.since


@dataclass(slots=True)
class Ahead:
    """Decides which steps of a scope need not run although their files are gone."""

    path: StepPath
    make: Callable[[], Foresight]
    progress: Callable[[frozenset[str]], Progress]
    known: dict[str, Sighting] = field(default_factory=dict)
    runs: set[str] = field(default_factory=set)
    _needed: set[str] = field(default_factory=set)
    """Keys of remembered steps that a reader needs, so that this is not looked for again."""
    _foresight: Foresight | None = None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def covers(self, instance: Instance) -> bool:
        """Return whether the end of an instance can be foreseen here."""
        step = instance.step
        return is_foreseeable(step) and instance.path == self.path / step.name

    async def foresee(self, name: str, sighting: Sighting, look: Look[Sighting]) -> None:
        """Decide on a remembered step that has come up, if it need not run."""
        async with self._lock:
            while name not in self.known and sighting.key not in self._needed:
                verdict = await asyncio.to_thread(
                    self._foresee, (self.progress(frozenset(self.runs)), dict(self.known)), look
                )
                if any(self._is_decided_otherwise(*end) for end in verdict.ends.items()):
                    continue
                self._needed.update(one.key for one in verdict.needed.values())
                if name in verdict.ends:
                    self.known.update(verdict.ends)
                return

    def _foresee(
        self, now: tuple[Progress, dict[str, Sighting]], look: Look[Sighting]
    ) -> Verdict[Sighting]:
        progress, known = now
        if self._foresight is None:
            self._foresight = self.make()

        def find(instance: Instance, view: View, since: int) -> Sighting | None:
            return known.get(instance.step.name) or look(instance, view, since)

        return self._foresight.foresee(progress, find)

    def _is_decided_otherwise(self, name: str, end: Sighting) -> bool:
        return name in self.runs or self.known.get(name, end) is not end


@dataclass(frozen=True, slots=True)
class Around:
    """What holds for everything in a scope."""

    view: View
    limits: Limits
    lanes: tuple[Lane, ...] = ()
    priority: float = 0.0
    since: int = 0
    ahead: Ahead | None = None

    def with_lane(self, width: int | None) -> Around:
        """Return this with one more bound, if there is one."""
        return self if width is None else replace(self, lanes=(*self.lanes, Lane(width)))
