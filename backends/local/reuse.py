"""What need not run: steps that an earlier session of the run has ended, and cached results.

A step of the same run is taken over if it succeeded at the same path with the same key, nothing
that it depends on ended later, its outputs that are needed were kept, and its files are still in
the store. A step that asks for a cache may take the outputs of another run with the same key.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from couler.backends.local.cache import StepCache
from couler.backends.local.earlier import Earlier
from couler.backends.local.ends import RUNS, Attempt, Bound, End, Instance
from couler.backends.local.keys import StepKeys
from couler.backends.local.recording import Recorder
from couler.backends.local.values import VALUE_ERRORS, View
from couler.ir.workflow import Step


@dataclass(slots=True)
class Reuse:
    """Finds what need not run.

    Parameters
    ----------
    recorder
        Told of what is found.
    earlier
        What earlier sessions of the run have recorded.
    keys
        The keys of its steps.
    cache
        Results of all runs; None where it is not to be used.
    """

    recorder: Recorder
    earlier: Earlier
    keys: StepKeys
    cache: StepCache | None = None

    def may_know(self, instance: Instance, *, since: int) -> bool:
        """Return whether looking is worth while."""
        return self._asks_cache(instance.step) or (
            since != RUNS and str(instance.path) in self.earlier
        )

    async def find(self, instance: Instance, view: View, *, since: int) -> End | None:
        """Return the known end of an instance, and tell of it; None if it is to run."""
        step, path = instance.step, str(instance.path)
        try:
            key = self.keys.of(step, view)
        except VALUE_ERRORS:  # it is told when the step is to run
            return None
        names = [output.name for output in instance.outputs]
        taken = self.earlier.find(path, key, names, since)
        if taken is not None:
            end, record = taken
            self.recorder.reused(instance, end, record)
            return end
        if self.cache is None or step.cache is None:
            return None
        max_age_s = step.cache.max_age_s
        found = await asyncio.to_thread(self.cache.find, key, path, names, max_age_s=max_age_s)
        self.recorder.cache_decided(found.decision)
        if found.outputs is None:
            return None
        end = End("cached", found.outputs, key=key, since=RUNS, source_run=found.source_run)
        self.recorder.ended(instance, end, None)
        return end

    async def keep(self, bound: Bound, key: str, last: Attempt, seconds: float) -> None:
        """Offer what a step has given to the cache, if it asks for one."""
        if self.cache is None or bound.step.cache is None:
            return
        decisions = await asyncio.to_thread(
            self.cache.offer, key, str(bound.path), bound.step.name, last.outputs, cost_s=seconds
        )
        for decision in decisions:
            self.recorder.cache_decided(decision)

    def _asks_cache(self, step: Step) -> bool:
        return self.cache is not None and step.cache is not None
