"""What `couler retry` would do with each step of a run of this machine, and why."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from couler.backends.local.reuse import NOT_KEPT, Known
from couler.backends.local.sightings import Sighting
from couler.ir import workflow as ir
from couler.ir.semantics.foresight import Foresight, Progress, is_foreseeable
from couler.ir.semantics.outputs import RUNS, Instance
from couler.ir.semantics.replay import Finding, PlannedStep, UnknownValueError, plan_replay
from couler.ir.semantics.values import View
from couler.locations.stop import Stop
from couler.locations.transfer import OUTSIDE_ERRORS


def plan_retry(
    workflow: ir.Workflow, view: View, known: Known, *, read: Collection[str]
) -> tuple[PlannedStep, ...]:
    """Return what a retry would do with each step, in the order in which they could run."""
    return plan_replay(workflow, view, _Finder(known), read=read)


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds what need not run, in the records of the run and in the cache."""

    known: Known

    def find(self, instance: Instance, view: View, *, since: int) -> Finding:
        """Return what is known of an instance."""
        known = self.known
        try:
            files = known.fetch(instance.step, view, Stop())
            key = known.keys.of(instance.step, view, files)
        except OUTSIDE_ERRORS as error:
            return Finding("runs", reason=f"its files cannot be fetched: {error}")
        except UnknownValueError:
            asks = known.asks_cache(instance.step)
            return Finding("runs", cache="its inputs are not known yet" if asks else None)
        taken = known.find_earlier(instance, key, since=since)
        if taken is not None:
            end, _ = taken
            return Finding("reused", end.state, end.outputs, end.since)
        cached, decision = known.find_cached(instance, key)
        cache = None if decision is None else decision.reason
        if cached is not None:
            return Finding("cached", cached.state, cached.outputs, cached.since, cache=cache)
        why = known.why_not_earlier(instance, key, since=since)
        return Finding("runs", reason=None if since == RUNS else why or "", cache=cache)

    def foresee(
        self, instance: Instance, foresight: Foresight, progress: Progress
    ) -> Finding | None:
        """Return how an instance ends if nothing that runs reads what is not kept of it."""

        def look(one: Instance, view: View, since: int) -> Sighting | None:
            try:
                return self.known.sight(one, view, since)[0]
            except UnknownValueError:
                return None

        if not is_foreseeable(instance.step):
            return None
        seen = foresight.foresee(progress, look).ends.get(instance.step.name)
        if seen is None or seen.is_kept:
            return None
        if seen.record is not None:
            return Finding("reused", seen.end.state, seen.outputs, seen.since, cache=NOT_KEPT)
        told = NOT_KEPT if seen.found is None else seen.found.decision.reason
        return Finding("cached", seen.end.state, seen.outputs, seen.since, cache=told)
