"""The interpreter of the IR: runs the steps of a scope on this machine, one after the other.

It follows docs/semantics.md to the letter and does nothing else: no parallel steps, no resuming.
The modules that say what a workflow means (`values`, `iteration`, `status`, `retries`, `outputs`)
know nothing of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial

from couler.backends.local.container import attempt_process
from couler.backends.local.iteration import foreach_items, gather
from couler.backends.local.leaf import (
    CANCELLED,
    Attempt,
    Bound,
    Limits,
    Place,
    attempt_pause,
    attempt_request,
    bind,
)
from couler.backends.local.outputs import (
    default_outputs,
    outputs_of,
    read_results,
    scope_outputs,
)
from couler.backends.local.result import Event, StepResult
from couler.backends.local.retries import may_retry, wait_seconds
from couler.backends.local.status import State, failed_leaves, refuse_start
from couler.backends.local.values import (
    VALUE_ERRORS,
    Gathered,
    Outputs,
    Stored,
    View,
    bind_input,
    holds,
    to_json,
)
from couler.errors import WireError
from couler.ir import workflow as ir
from couler.ir.graph import Graph
from couler.ir.paths import StepPath
from couler.ir.policies import Foreach, Loop
from couler.ir.wire import dump_json, is_file


@dataclass(frozen=True, slots=True)
class End:
    """How a step's instance ended."""

    state: State
    outputs: Outputs = field(default_factory=dict)
    message: str | None = None
    exit_code: int | None = None
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class ScopeEnd:
    """How a scope ended."""

    states: Mapping[str, State]
    outputs: Mapping[str, Outputs]
    """What can be read of each step."""
    failed: tuple[str, ...]
    """The leaves whose branch is failed, or what a limit cut off; none if the scope is well."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A step at its place in the run."""

    step: ir.Step
    path: StepPath
    outputs: tuple[ir.Output, ...]

    @property
    def is_shown(self) -> bool:
        """Whether it has a place in the results; a group that a pass made has none."""
        action = self.step.action
        return not (isinstance(action, ir.Group) and action.transparent)

    def at(self, path: StepPath) -> Instance:
        """Return an item or a round of this instance."""
        return replace(self, path=path)


class Interpreter:
    """Runs scopes and records what happens.

    Parameters
    ----------
    place
        Where attempts run.
    on_event
        Told of each start and end.

    Attributes
    ----------
    results
        How each instance ended, by the text of its path.
    """

    def __init__(self, place: Place, on_event: Callable[[Event], None]) -> None:
        self.results: dict[str, StepResult] = {}
        self._place = place
        self._on_event = on_event

    def run_scope(
        self,
        steps: tuple[ir.Step, ...],
        path: StepPath,
        view: View,
        limits: Limits,
        *,
        read: Container[str],
    ) -> ScopeEnd:
        """Run the steps of a scope, each after those that it waits for.

        Parameters
        ----------
        steps
            Steps of an acyclic graph.
        path
            Place of the scope.
        view
            What the steps can read beside each other.
        limits
            What can end them early.
        read
            Names of the steps whose standard output something reads.
        """
        by_name = {step.name: step for step in steps}
        graph = Graph.of(steps)
        states: dict[str, State] = {}
        cut_off: list[str] = []
        readable = dict(view.steps)
        inside = replace(view, steps=readable)
        for name in graph.topological_order:
            step = by_name[name]
            instance = Instance(step, path / name, outputs_of(step, is_read=name in read))
            if not instance.is_shown:
                instance = instance.at(path)
            reached = limits.reached()
            if reached is not None:
                cut_off.append(name)
                end = self._end_at_once(instance, "omitted", _too_late(reached))
            else:
                end = self._refuse(instance, states) or self._run(instance, inside, limits)
            states[name] = end.state
            readable[name] = end.outputs
        # What was cut off has no failed step above it, if the limit came between two steps.
        return ScopeEnd(states, readable, failed_leaves(graph, states) or tuple(cut_off))

    def observe(
        self, instance: Instance, run: Callable[[], End], defaults: Outputs | None = None
    ) -> End:
        """Run an instance and record its start and end.

        Parameters
        ----------
        instance
            The instance.
        run
            Runs it.
        defaults
            What can be read of it if it failed.
        """
        started = datetime.now(UTC)
        if instance.is_shown:
            self._on_event(Event("started", instance.path))
        end = run()
        if end.state == "failed" and defaults:
            end = replace(end, outputs=defaults)
        self._record(instance, end, started)
        return end

    def skip(self, instance: Instance, why: str) -> End:
        """Record that an instance is skipped."""
        return self._end_at_once(instance, "skipped", why)

    def _end_at_once(self, instance: Instance, state: State, why: str) -> End:
        end = End(state, _defaults(instance), why)
        self._record(instance, end, None)
        return end

    def _record(self, instance: Instance, end: End, started: datetime | None) -> None:
        if not instance.is_shown:
            return
        log = self._place.log(instance.path)
        self.results[str(instance.path)] = StepResult(
            status=end.state,
            started=started,
            finished=datetime.now(UTC),
            outputs={name: self.show(stored) for name, stored in end.outputs.items()},
            attempts=end.attempts,
            message=end.message,
            exit_code=end.exit_code,
            log=log if log.is_file() else None,
        )
        self._on_event(Event("finished", instance.path, end.state, end.message))

    def show(self, stored: Stored) -> object:
        """Return a value for people and JSON: files as paths, what is of no type as text."""
        if isinstance(stored, Gathered):
            return [None if item is None else self.show(item) for item in stored.items]
        if is_file(stored.type):
            return str(self._place.store.path(stored.text))
        try:
            return json.loads(dump_json(to_json(stored)))  # with lists, as JSON has them
        except WireError:
            return stored.text

    def _refuse(self, instance: Instance, states: Mapping[str, State]) -> End | None:
        """Return the end of a step that does not start."""
        refusal = refuse_start(instance.step, states)
        return None if refusal is None else self._end_at_once(instance, *refusal)

    def _run(self, instance: Instance, view: View, limits: Limits) -> End:
        step = instance.step
        try:
            if step.when is not None and not holds(step.when, view):
                return self.skip(instance, "its condition is false")
        except VALUE_ERRORS as error:
            return self._end_at_once(instance, "failed", f"its condition: {error}")
        if step.foreach is not None:
            run = partial(self._run_foreach, instance, step.foreach, view, limits)
            return self.observe(instance, run)
        return self.observe(
            instance, partial(self._run_item, instance, view, limits), _defaults(instance)
        )

    def _run_foreach(self, instance: Instance, foreach: Foreach, view: View, limits: Limits) -> End:
        try:
            items = foreach_items(foreach, view)
        except VALUE_ERRORS as error:
            return End("failed", message=str(error))
        ends = [
            self._observe_item(instance.at(instance.path.at_item(index)), item, view, limits)
            for index, item in enumerate(items)
        ]
        failed = [str(index) for index, end in enumerate(ends) if end.state != "succeeded"]
        names = [output.name for output in instance.outputs]
        given = [end.outputs if end.state == "succeeded" else None for end in ends]
        try:
            outputs = gather(names, given)
        except VALUE_ERRORS as error:
            return End("failed", message=str(error))
        if failed:
            told = f"{len(failed)} of {len(ends)} items failed: {', '.join(failed[:10])}"
            return End("failed", outputs, told)
        return End("succeeded", outputs)

    def _observe_item(
        self, item: Instance, values: Mapping[str, Stored], view: View, limits: Limits
    ) -> End:
        reached = limits.reached()
        if reached is not None:
            return self._end_at_once(item, "omitted", _too_late(reached))
        run = partial(self._run_item, item, replace(view, items=values), limits)
        return self.observe(item, run, _defaults(item))

    def _run_item(self, instance: Instance, view: View, limits: Limits) -> End:
        if instance.step.loop is None:
            return self._run_attempts(instance, view, limits)
        return self._run_loop(instance, instance.step.loop, view, limits)

    def _run_loop(self, instance: Instance, loop: Loop, view: View, limits: Limits) -> End:
        previous: Outputs | None = None
        for number in range(loop.max_iterations):
            round_ = instance.at(instance.path.at_round(number))
            run = partial(self._run_attempts, round_, replace(view, round=previous), limits)
            end = self.observe(round_, run, _defaults(round_))
            if end.state == "failed":
                return End("failed", message=f"round {number} failed")
            previous = end.outputs
            try:
                if not holds(loop.condition, replace(view, round=previous)):
                    return End("succeeded", previous)
            except VALUE_ERRORS as error:
                return End("failed", message=f"the condition after round {number}: {error}")
        return End(
            "failed",
            message=f"its condition still holds after {loop.max_iterations} rounds, the most "
            "that max_iterations allows",
        )

    def _run_attempts(self, instance: Instance, view: View, limits: Limits) -> End:
        step = instance.step
        run: Callable[[int, Limits], Attempt]
        if isinstance(step.action, ir.Group):
            run = partial(self._attempt_group, instance, step.action, view)
        else:
            try:
                bound = bind(step, instance.path, instance.outputs, view)
            except VALUE_ERRORS as error:
                return End("failed", message=str(error))
            run = partial(self._attempt_leaf, bound)
        attempts = 0
        while True:
            last = run(attempts, limits.within(step.timeout_s))
            attempts += 1
            if last.succeeded:
                return End("succeeded", last.outputs, None, last.exit_code, attempts)
            failed = End("failed", {}, last.message, last.exit_code, attempts)
            if not may_retry(step.retry, attempts, last.kind, last.exit_code):
                return failed
            backoff = None if step.retry is None else step.retry.backoff
            limits.pause(wait_seconds(backoff, attempts - 1))
            if limits.reached() is not None:
                return failed

    def _attempt_leaf(self, bound: Bound, attempt: int, limits: Limits) -> Attempt:
        action = bound.step.action
        match action:
            case ir.Container() | ir.Script():
                return attempt_process(bound, action, self._place, attempt, limits)
            case ir.Http():
                return attempt_request(bound, action, self._place, limits)
            case ir.Suspend():
                return attempt_pause(action, limits)
        raise TypeError(f"a {action.kind} is refused before the start")

    def _attempt_group(
        self, instance: Instance, group: ir.Group, view: View, attempt: int, limits: Limits
    ) -> Attempt:
        step = instance.step
        if attempt:
            self._forget_inside(instance.path)
        try:
            inputs = {given.name: bind_input(given, view) for given in step.inputs}
        except VALUE_ERRORS as error:
            return Attempt(False, message=str(error))
        read = read_results(group.steps, (output.value for output in step.outputs))
        inside = View(view.run, parameters=inputs)
        end = self.run_scope(group.steps, instance.path, inside, limits, read=read)
        if end.failed:
            why = limits.reached() or f"failed inside: {', '.join(end.failed)}"
            return Attempt(False, message=why, kind="failure")
        try:
            outputs = scope_outputs(step.outputs, replace(inside, steps=end.outputs))
        except VALUE_ERRORS as error:
            return Attempt(False, message=str(error))
        return Attempt(True, outputs)

    def _forget_inside(self, path: StepPath) -> None:
        """Forget the steps of an earlier attempt of a group."""
        start = f"{path}/"
        for text in [text for text in self.results if text.startswith(start)]:
            del self.results[text]


def _too_late(reached: str) -> str:
    return reached if reached == CANCELLED else "the time limit around it had ended"


def _defaults(instance: Instance) -> Outputs:
    """Return what can be read of an instance that gave nothing."""
    is_list = instance.step.foreach is not None and instance.path[-1].item is None
    return {} if is_list else default_outputs(instance.outputs)
