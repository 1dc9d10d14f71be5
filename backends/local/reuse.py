"""What need not run: steps that an earlier session of the run has ended, and cached results."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType

from couler.backends.local.ahead import Ahead, Sighting
from couler.backends.local.cache import StepCache
from couler.backends.local.earlier import Earlier
from couler.backends.local.ends import Attempt, Bound, End
from couler.backends.local.limits import Limits
from couler.backends.local.locations.exchange import (
    Exchange,
    Files,
    bind_sources,
    bind_targets,
    has_sources,
    has_targets,
)
from couler.backends.local.recording import Recorder
from couler.backends.local.threads import in_thread
from couler.ir import workflow as ir
from couler.ir.cachekey import cache_key, step_digests, text_digest
from couler.ir.semantics.foresight import Foresight, Progress, is_foreseeable
from couler.ir.semantics.keys import key_texts
from couler.ir.semantics.outputs import RUNS, Instance, required
from couler.ir.semantics.replay import Finding, PlannedStep, UnknownValueError, plan_replay
from couler.ir.semantics.values import VALUE_ERRORS, Outputs, View
from couler.ir.storage import Volume
from couler.ir.workflow import Container, Script, Step
from couler.locations.stop import CutOffError, Stop
from couler.locations.transfer import OUTSIDE_ERRORS
from couler.state.records import CacheDecision, StepRecord
from couler.store import content_of, is_reference

NO_FILES: Files = MappingProxyType({})


class StepKeys:
    """The keys of the instances of steps that run something."""

    def __init__(self, volumes: Iterable[Volume], *, in_images: bool) -> None:
        self._digest = step_digests(volumes)
        self._in_images = in_images

    def of(self, step: Step, view: View, files: Files = NO_FILES) -> str:
        """Return the key of one instance, in hexadecimal."""
        bind_targets(step, view)  # what cannot be put fails here
        key = cache_key(
            self._digest(step),
            key_texts(
                step,
                view,
                sources={name: fetched.content for name, fetched in files.items()},
                content=_content,
            ),
        )
        if not self._in_images and isinstance(step.action, Container | Script):
            key = text_digest(f"process/{key}")
        name = None if step.cache is None else step.cache.name
        return key if name is None else text_digest(f"{name}/{key}")


def _content(text: str) -> str:
    # A parameter may name a file in any way.
    return content_of(text) if is_reference(text) else text


@dataclass(slots=True)
class Known:
    """Decides what need not run, for a run and for its plan alike."""

    earlier: Earlier
    keys: StepKeys
    cache: StepCache | None = None
    exchange: Exchange | None = None
    seen: dict[tuple[str, str], Sighting] = field(default_factory=dict)

    def asks_cache(self, step: Step) -> bool:
        """Return whether a step's outputs may be in the cache."""
        return self.cache is not None and step.cache is not None

    def fetch(self, step: Step, view: View, stop: Stop) -> Files:
        """Return what a step takes from outside of the workflow, which may take until a stop."""
        if self.exchange is None or not has_sources(step):
            return NO_FILES
        return self.exchange.fetch_all(step, bind_sources(step, view), stop)

    def put_again(self, instance: Instance, view: View, outputs: Outputs, stop: Stop) -> None:
        """Put outputs of the cache where their step keeps them; the errors are those of `fetch`."""
        targets = bind_targets(instance.step, view)
        if self.exchange is not None and targets:
            self.exchange.put_again(outputs, instance.outputs, targets, stop)

    def find_earlier(
        self, instance: Instance, key: str, *, since: int
    ) -> tuple[End, StepRecord] | None:
        """Return what an earlier session has recorded of an instance, if it still holds."""
        return self.earlier.find(str(instance.path), key, _names(instance), since)

    def why_not_earlier(self, instance: Instance, key: str, *, since: int) -> str | None:
        """Return why nothing earlier holds, in words; None if it does."""
        return self.earlier.why_not(str(instance.path), key, _names(instance), since)

    def find_cached(self, instance: Instance, key: str) -> tuple[End | None, CacheDecision | None]:
        """Look in the cache for the end of an instance."""
        policy = instance.step.cache
        if self.cache is None or policy is None or self.earlier.is_asked_for(str(instance.path)):
            return None, None
        optional = [output.name for output in instance.outputs if output.optional]
        found = self.cache.find(
            key,
            str(instance.path),
            _names(instance),
            optional=optional,
            max_age_s=policy.max_age_s,
        )
        if found.outputs is None:
            return None, found.decision
        end = End("cached", found.outputs, key=key, since=RUNS, source_run=found.source_run)
        return end, found.decision

    def sight(
        self, instance: Instance, view: View, since: int
    ) -> tuple[Sighting | None, CacheDecision | None]:
        """Look for all that is known of an instance that may not have come up yet."""
        if has_sources(instance.step) or has_targets(instance.step):
            return None, None  # that its files are put somewhere is a need of its own
        try:
            key = self.keys.of(instance.step, view)
        except VALUE_ERRORS:  # it is told when the step is to run
            return None, None
        taken = self.find_earlier(instance, key, since=since)
        if taken is not None:
            end, record = taken
            return Sighting(key, end, True, record), None
        path, policy = str(instance.path), instance.step.cache
        if self.cache is None or policy is None or self.earlier.is_asked_for(path):
            return None, None
        seen = self.seen.get((path, key))
        if seen is not None:
            return seen, None
        names = _names(instance)
        optional = [output.name for output in instance.outputs if output.optional]
        found = self.cache.take(key, path, names, optional=optional, max_age_s=policy.max_age_s)
        decision = found.decision
        if found.outputs is None and found.is_absent:
            lost = self.earlier.find_lost(path, key, names, since)
            if lost is not None:
                return Sighting(key, lost[0], False, lost[1]), decision
            recalled = self.cache.recall(
                key, path, names, optional=optional, max_age_s=policy.max_age_s
            )
            found = recalled or found
        if found.outputs is None:
            return None, decision
        is_kept = found.decision.decision == "hit"
        message = None if is_kept else NOT_KEPT
        end = End(
            "cached", found.outputs, message, key=key, since=RUNS, source_run=found.source_run
        )
        seen = Sighting(key, end, is_kept, found=found)
        if is_kept:
            self.seen[path, key] = seen
        return seen, None if is_kept else decision


@dataclass(slots=True)
class Reuse:
    """Takes over, in a run, what need not run."""

    recorder: Recorder
    known: Known

    @property
    def earlier(self) -> Earlier:
        """What earlier sessions of the run have recorded."""
        return self.known.earlier

    @property
    def keys(self) -> StepKeys:
        """The keys of the run's steps."""
        return self.known.keys

    def may_know(self, instance: Instance, *, since: int) -> bool:
        """Return whether looking is worth while."""
        return self.known.asks_cache(instance.step) or (
            since != RUNS and str(instance.path) in self.earlier
        )

    def exchanges(self, step: Step) -> bool:
        """Return whether looking fetches files from outside of the workflow, or puts some there."""
        return has_sources(step) or (self.known.asks_cache(step) and has_targets(step))

    async def fetch(self, instance: Instance, view: View, limits: Limits) -> Files | None:
        """Return what a step takes from outside of the workflow; None if that cannot be had now."""
        if not has_sources(instance.step):
            return NO_FILES
        try:
            return await in_thread(partial(self.known.fetch, instance.step, view), limits)
        except (*VALUE_ERRORS, *OUTSIDE_ERRORS, CutOffError):
            return None

    async def find(
        self, instance: Instance, view: View, files: Files, limits: Limits, *, since: int
    ) -> End | None:
        """Return the known end of an instance, and tell of it; None if it is to run."""
        try:
            key = self.keys.of(instance.step, view, files)
        except VALUE_ERRORS:  # it is told when the step is to run
            return None
        taken = self.known.find_earlier(instance, key, since=since)
        if taken is not None:
            end, record = taken
            self.recorder.reused(instance, end, record)
            return end
        if not self.known.asks_cache(instance.step):
            return None
        found, decision = await asyncio.to_thread(self.known.find_cached, instance, key)
        if found is not None and decision is not None and has_targets(instance.step):
            outputs = found.outputs
            try:
                put = partial(self.known.put_again, instance, view, outputs)
                await in_thread(put, limits)
            except CutOffError:
                return None
            except (*VALUE_ERRORS, *OUTSIDE_ERRORS) as error:
                why = f"its outputs cannot be put where the step keeps them: {error}"
                found, decision = None, replace(decision, decision="miss", reason=why)
        if decision is not None:
            self.recorder.cache_decided(decision)
        if found is not None:
            self.recorder.ended(instance, found, None)
        return found

    async def find_ahead(
        self, instance: Instance, view: View, ahead: Ahead, *, since: int
    ) -> End | None:
        """Return the known end of an instance as `find` does, in view of those that read it."""
        name = instance.step.name
        sighting, decision = None, None
        if name not in ahead.known:
            view = replace(view, steps=dict(view.steps))  # others end meanwhile
            sight = self.known.sight
            sighting, decision = await asyncio.to_thread(sight, instance, view, since)
            if sighting is not None and not sighting.is_kept:
                await ahead.foresee(
                    name, sighting, lambda one, read, after: sight(one, read, after)[0]
                )
                sighting = None
        sighting = ahead.known.get(name, sighting)
        if sighting is None:
            ahead.runs.add(name)
            if decision is not None:
                self.recorder.cache_decided(decision)
            return None
        ahead.known[name] = sighting
        end = sighting.end
        if sighting.found is not None and self.known.cache is not None:
            await asyncio.to_thread(self.known.cache.count, sighting.found)
            self.recorder.cache_decided(sighting.found.decision)
        if sighting.record is not None:
            self.recorder.reused(instance, end, sighting.record)
        else:
            self.recorder.ended(instance, end, None)
        return end

    async def keep(self, bound: Bound, key: str, last: Attempt, seconds: float) -> None:
        """Offer what a step has given to the cache, if it asks for one."""
        cache = self.known.cache
        if cache is None or bound.step.cache is None:
            return
        answer = await asyncio.to_thread(
            cache.offer, key, str(bound.path), bound.step.name, last.outputs, cost_s=seconds
        )
        if not answer.is_recorded:
            self.recorder.cache_decided(answer.decision)
        if answer.failure is not None:
            self.recorder.warned(bound.path, "cache policy", answer.failure)
        for kept, decision in answer.evicted:
            self.recorder.evicted(bound.path, kept, decision.reason)


NOT_KEPT = "its files are no longer kept: nothing that runs reads them"
"""The message of what is passed."""


def _names(instance: Instance) -> list[str]:
    return required(instance.outputs)


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
