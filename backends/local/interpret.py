"""The interpreter of the IR: what starts when, in parallel, by docs/semantics.md."""

from __future__ import annotations

import asyncio
import contextlib
import time
import typing as t
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial

from couler.backends.local.ahead import Around
from couler.backends.local.capacity import Need, need_of
from couler.backends.local.companions import ports_beside
from couler.backends.local.demand import Grant, Request, Shape
from couler.backends.local.dispatch import Dispatcher
from couler.backends.local.ends import (
    Attempt,
    Bound,
    End,
    ScopeEnd,
    bad_end,
    bind,
    cut_off,
    failure_kind,
)
from couler.backends.local.limits import Limits, too_late
from couler.backends.local.locations.exchange import Files
from couler.backends.local.locks import Hold
from couler.backends.local.recording import Recorder
from couler.backends.local.reuse import NO_FILES, Reuse
from couler.backends.local.scope import run_steps
from couler.ir import workflow as ir
from couler.ir.grouped import unbegun
from couler.ir.policies import Foreach, Lock, Loop, locks_of, retry_policy
from couler.ir.semantics.outputs import (
    RUNS,
    Instance,
    bind_inputs,
    read_results,
    read_steps,
    readable_defaults,
    scope_outputs,
)
from couler.ir.semantics.retries import attempt_seconds, next_wait
from couler.ir.semantics.status import FAILED, State
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    Outputs,
    Stored,
    View,
    foreach_items,
    gather,
    holds,
)
from couler.ir.walk import StepPath
from couler.ir.wording import counted

Ended: t.TypeAlias = Callable[[End], None]


class Attempter(t.Protocol):
    """Makes one attempt of a step that runs something."""

    async def attempt(self, bound: Bound, number: int, limits: Limits, grant: Grant) -> Attempt:
        """Run it once; `number` counts from 1, over all sessions of the run."""
        ...


class Interpreter:
    """Runs scopes and records what happens."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        attempter: Attempter,
        recorder: Recorder,
        reuse: Reuse,
        hold_of: Callable[[Lock], Hold],
    ) -> None:
        self._dispatcher = dispatcher
        self._attempter = attempter
        self._recorder = recorder
        self._reuse = reuse
        self._hold_of = hold_of
        self._tasks: set[asyncio.Task[t.Any]] = set()
        self.is_abandoned = False
        """Whether nobody waits for the end of anything any more."""
        self.failure = recorder.failure
        """Ends with an error where the engine itself cannot go on."""

    async def run_scope(
        self,
        steps: tuple[ir.Step, ...],
        path: StepPath,
        around: Around,
        *,
        read: Collection[str],
        shown: Collection[str],
    ) -> ScopeEnd:
        """Run the steps of a scope, each after those that it waits for."""
        return await run_steps(steps, path, around, self, read=read, shown=shown)

    def start_step(self, instance: Instance, around: Around, ended: Ended) -> None:
        """Start a step whose dependencies are met: its condition, then its items or itself."""
        step = instance.step
        try:
            if step.when is not None and not holds(step.when, around.view):
                ended(self.end_at_once(instance, "skipped", "its condition is false"))
                return
        except VALUE_ERRORS as error:
            ended(self.end_at_once(instance, "failed", f"its condition: {error}"))
            return
        if step.foreach is None:
            self._start_item(instance, around, ended)
        else:
            self.spawn(
                self.observe(instance, self._run_foreach(instance, step.foreach, around)), ended
            )

    def end_at_once(self, instance: Instance, state: State, why: str) -> End:
        """Record the end of an instance that does not start."""
        inside = unbegun(instance.step, state, why)
        end = End(state, readable_defaults(instance), why, inside=inside)
        self._recorder.ended(instance, end, None)
        return end

    def cut_off(self, instance: Instance, limits: Limits) -> End:
        """Record that an instance does not start any more; what is known of it stays known."""
        why = too_late(limits)
        inside = unbegun(instance.step, "omitted", why)
        end = End("omitted", readable_defaults(instance), why, inside=inside)
        is_known = self._reuse.earlier.has_succeeded(str(instance.path))
        self._recorder.ended(instance, end, None, stays_known=is_known)
        return end

    def spawn(self, work: Coroutine[t.Any, t.Any, End], ended: Ended) -> None:
        """Run work beside all else and hand on its end; an error in it ends the engine."""

        def deliver(task: asyncio.Task[End]) -> None:
            self._tasks.discard(task)
            if task.cancelled():
                return
            error = task.exception()
            if self.is_abandoned:
                return
            if error is None:
                ended(task.result())
            elif not self.failure.done():
                self.failure.set_exception(error)

        if self.is_abandoned:  # what ended gave room to what waited
            work.close()
            return
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(deliver)

    async def abandon(self) -> None:
        """End all that is under way, without a word to anybody; nothing starts any more."""
        self.is_abandoned = True
        self._dispatcher.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def observe(self, instance: Instance, work: Coroutine[t.Any, t.Any, End]) -> End:
        """Do the work of an instance and record its start and its end."""
        started = self._recorder.started(instance)
        return self._close(instance, started, await work)

    def _close(self, instance: Instance, started: datetime | None, end: End) -> End:
        if end.state in FAILED and not end.outputs:
            end = replace(end, outputs=readable_defaults(instance))
        self._recorder.ended(instance, end, started)
        return end

    async def _run_foreach(self, instance: Instance, foreach: Foreach, around: Around) -> End:
        try:
            items = foreach_items(foreach, around.view)
        except VALUE_ERRORS as error:
            return End("failed", message=str(error))

        def start(index: int, item: Mapping[str, Stored], ended: Ended) -> None:
            at = instance.at(instance.path.at_item(index))
            if around.limits.reached is not None:
                ended(self.cut_off(at, around.limits))
            else:
                view = replace(around.view, items=item)
                self._start_item(at, replace(around, view=view), ended)

        ends = await run_all(items, start, width=foreach.max_parallel)
        since = max((end.since for end in ends), default=0)
        failed = [str(index) for index, end in enumerate(ends) if end.state == "failed"]
        given = [end.outputs if end.state in _WELL else None for end in ends]
        try:
            outputs = gather([output.name for output in instance.outputs], given)
        except VALUE_ERRORS as error:
            return End("failed", message=str(error), since=since)
        if all(end.state in _WELL for end in ends):
            return End("succeeded", outputs, since=since)
        told = f"{len(failed)} of {len(ends)} items failed: {', '.join(failed[:10])}"
        reached = around.limits.reached
        why = [*([told] if failed else []), *([too_late(around.limits)] if reached else [])]
        return End(bad_end(failure_kind(reached)), outputs, "; ".join(why), since=since)

    def _start_item(self, instance: Instance, around: Around, ended: Ended) -> None:
        loop = instance.step.loop
        if loop is None:
            self._start_once(instance, around, ended)
        else:
            self.spawn(self.observe(instance, self._run_loop(instance, loop, around)), ended)

    async def _run_loop(self, instance: Instance, loop: Loop, around: Around) -> End:
        previous: Outputs | None = None
        since = around.since
        for number in range(loop.max_iterations):
            view = replace(around.view, round=previous)
            end = await self._run_round(
                instance.at(instance.path.at_round(number)),
                replace(around, view=view, since=since),
            )
            since = max(since, end.since)
            ended = partial(End, since=since)
            if end.state not in _WELL:
                last = cut_off(around.limits, f"round {number} failed")
                return ended(bad_end(last.kind), message=last.message)
            previous = end.outputs
            try:
                if not holds(loop.condition, replace(around.view, round=previous)):
                    return ended("succeeded", previous)
            except VALUE_ERRORS as error:
                return ended("failed", message=f"the condition after round {number}: {error}")
        rounds = counted(loop.max_iterations, "round")
        return ended(
            "failed",
            message=f"its condition still holds after {rounds}, the most that max_iterations "
            "allows",
        )

    async def _run_round(self, round_: Instance, around: Around) -> End:
        end: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self._start_once(round_, around, end.set_result)
        return await end

    def _start_once(self, instance: Instance, around: Around, ended: Ended) -> None:
        """Start an instance that is neither a list of items nor of rounds."""
        action = instance.step.action
        if isinstance(action, ir.Group):
            self.spawn(self.observe(instance, self._run_group(instance, action, around)), ended)
        elif self._reuse.may_know(instance, since=around.since):
            self.spawn(self._find_or_run(instance, around), ended)
        else:
            self._submit(instance, around, ended)

    async def _find_or_run(self, instance: Instance, around: Around) -> End:
        ahead = around.ahead
        if self._reuse.exchanges(instance.step):
            known, files = await self._find_outside(instance, around)
        elif ahead is not None and ahead.covers(instance):
            files = NO_FILES
            known = await self._reuse.find_ahead(instance, around.view, ahead, since=around.since)
        else:
            files = NO_FILES
            known = await self._find(instance, around, files, around.limits)
        if known is not None:
            return known
        end: asyncio.Future[End] = asyncio.get_running_loop().create_future()
        self._submit(instance, around, end.set_result, files)
        return await end

    async def _find_outside(self, instance: Instance, around: Around) -> tuple[End | None, Files]:
        """Look for what is known of an instance, with what it takes from outside."""
        shape = Shape(Need(), around.lanes)
        grant = await self._dispatcher.acquire(shape, around.priority, around.limits)
        if grant is None:
            return self.cut_off(instance, around.limits), NO_FILES
        try:
            with around.limits.within(_attempt_seconds(instance.step, 0, 0.0)) as limits:
                files = await self._reuse.fetch(instance, around.view, limits)
                if files is None:
                    return None, NO_FILES
                return await self._find(instance, around, files, limits), files
        finally:
            self._dispatcher.release(grant)

    async def _find(
        self, instance: Instance, around: Around, files: Files, limits: Limits
    ) -> End | None:
        return await self._reuse.find(instance, around.view, files, limits, since=around.since)

    def _submit(
        self, instance: Instance, around: Around, ended: Ended, files: Files = NO_FILES
    ) -> None:
        """Line up a step that runs something; `files` have come from outside already."""
        shape = self._shape(instance.step, around)

        def start(grant: Grant | None) -> None:
            if grant is None:
                ended(self.cut_off(instance, around.limits))
            else:
                self.spawn(self._run_leaf(instance, around, grant, files), ended)

        self._dispatcher.submit(Request(shape, around.priority, around.limits, start))

    async def _run_leaf(
        self, instance: Instance, around: Around, grant: Grant, files: Files
    ) -> End:
        started = self._recorder.started(instance)
        end = await self._attempt_leaf(instance, around, grant, files)
        return self._close(instance, started, end)

    async def _attempt_leaf(
        self, instance: Instance, around: Around, first: Grant, files: Files
    ) -> End:
        step, limits = instance.step, around.limits
        grant: Grant | None = first
        attempts, number, last = 0, 0, Attempt(False)
        try:
            bound = bind(step, instance.path, instance.outputs, around.view)
            bound = replace(bound, files=files) if files else bound
            key = self._reuse.keys.of(step, around.view, files)
        except VALUE_ERRORS as error:
            self._dispatcher.release(first)
            return End("failed", message=str(error), since=RUNS)
        begun = time.monotonic()
        while grant is not None:
            number = self._recorder.next_attempt(instance)
            started = time.monotonic()
            seconds = _attempt_seconds(step, attempts, started - begun)
            try:
                with limits.within(seconds) as own:
                    last = await self._attempter.attempt(bound, number, own, grant)
            finally:
                self._dispatcher.release(grant)
            attempts += 1
            if last.succeeded:
                if last.files:  # only now it is known what the step was given
                    key = self._reuse.keys.of(step, around.view, last.files)
                await self._reuse.keep(bound, key, last, time.monotonic() - started)
                break
            if not await self._wait_for_retry(instance, limits, attempts, last, begun):
                break
            bound = replace(bound, files={}) if files else bound
            shape = self._shape(step, around)
            grant = await self._dispatcher.acquire(shape, around.priority, limits)
        state: State = "succeeded" if last.succeeded else bad_end(last.kind)
        return End(
            *(state, last.outputs, last.message, last.exit_code, number, key),
            since=RUNS,
            inside=last.inside,
        )

    @contextlib.asynccontextmanager
    async def holding(self, locks: tuple[Lock, ...], limits: Limits) -> AsyncIterator[None]:
        """Hold locks while a block runs, which begins when they are free or the limits end."""
        if not locks:
            yield
            return
        shape = Shape(Need(jobs=0), locks=tuple(map(self._hold_of, locks)))
        grant = await self._dispatcher.acquire(shape, 0.0, limits)
        try:
            yield
        finally:
            if grant is not None:
                self._dispatcher.release(grant)

    def _shape(self, step: ir.Step, around: Around) -> Shape:
        locks = locks_of(step) if step.mutex is not None or step.locks else ()
        ports = tuple(Hold(str(port), kind="port") for port in ports_beside(step))
        holds = (*map(self._hold_of, locks), *ports)
        return Shape(need_of(step), around.lanes, holds)

    async def _run_group(self, instance: Instance, group: ir.Group, around: Around) -> End:
        step, attempts, begun = instance.step, 0, time.monotonic()
        since = around.since
        inside = around.with_lane(step.max_parallel)
        while True:
            if attempts:
                self._recorder.forget_inside(instance.path)
                self._reuse.earlier.forget_inside(instance.path)
            with around.limits.within(step.timeout_s) as limits:
                last = await self._run_inside(instance, group, replace(inside, limits=limits))
            attempts += 1
            since = max(since, last.since)
            if last.succeeded:
                return End("succeeded", last.outputs, attempts=attempts, since=since)
            if not await self._wait_for_retry(instance, around.limits, attempts, last, begun):
                state = bad_end(last.kind)
                return End(state, {}, last.message, None, attempts, since=since)

    async def _run_inside(self, instance: Instance, group: ir.Group, around: Around) -> Attempt:
        step = instance.step
        try:
            inputs = bind_inputs(step, around.view)
        except VALUE_ERRORS as error:
            return Attempt(False, message=str(error))
        read = read_results(group.steps, (output.value for output in step.outputs))
        view = View(around.view.run, parameters=inputs)
        end = await self.run_scope(
            *(group.steps, instance.path, replace(around, view=view)),
            read=read,
            shown=read_steps(output.value for output in step.outputs),
        )
        if end.failed:
            why = f"failed inside: {', '.join(end.failed)}"
            return replace(cut_off(around.limits, why), since=end.since)
        try:
            outputs = scope_outputs(step.outputs, replace(view, steps=end.outputs))
        except VALUE_ERRORS as error:
            return Attempt(False, message=str(error), since=end.since)
        return Attempt(True, outputs, since=end.since)

    async def _wait_for_retry(
        self, instance: Instance, limits: Limits, attempts: int, last: Attempt, begun: float
    ) -> bool:
        """Wait as the policy says, and tell whether there is another attempt."""
        retry = instance.step.retry
        spent_s = time.monotonic() - begun
        wait_s = next_wait(retry_policy(retry), attempts, last.kind, last.exit_code, spent_s)
        if limits.reached or wait_s is None:
            return False
        self._recorder.retrying(instance, last, wait_s)
        if wait_s:
            await limits.pause(wait_s)
        return limits.reached is None


def _attempt_seconds(step: ir.Step, attempts: int, since_first_s: float) -> float | None:
    with_pod = None if step.pod is None else step.pod.timeout_s
    policy = retry_policy(step.retry)
    return attempt_seconds(policy, attempts, since_first_s, step.timeout_s, with_pod)


_WELL: tuple[State, ...] = ("succeeded", "cached")


T = t.TypeVar("T")
R = t.TypeVar("R")


async def run_all(
    things: Sequence[T],
    start: Callable[[int, T, Callable[[R], None]], None],
    *,
    width: int | None = None,
) -> list[R]:
    """Start things in order and return how each ended, in the same order."""
    if not things:
        return []
    ends: dict[int, R] = {}
    finished: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    waiting = iter(enumerate(things))
    under_way = 0
    is_starting = False

    def take_end(index: int, end: R) -> None:
        nonlocal under_way
        ends[index] = end
        under_way -= 1
        if len(ends) == len(things):
            finished.set_result(None)
        else:
            start_more()

    def start_more() -> None:
        nonlocal under_way, is_starting
        if is_starting:  # an end came at once: the loop below goes on
            return
        is_starting = True
        while width is None or under_way < width:
            following = next(waiting, None)
            if following is None:
                break
            under_way += 1
            index, thing = following
            start(index, thing, lambda end, index=index: take_end(index, end))  # type: ignore[misc]  # a default binds it
        is_starting = False

    start_more()
    await finished
    return [ends[index] for index in range(len(things))]
