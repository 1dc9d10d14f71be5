"""What a retry of a run would do: which steps are reused, which run, and why."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from couler.ir import workflow as ir
from couler.ir.cachekey import text_digest
from couler.ir.graph import Graph
from couler.ir.policies import Foreach, Loop
from couler.ir.semantics.foresight import Foresight, Progress
from couler.ir.semantics.outputs import (
    RUNS,
    Instance,
    outputs_of,
    read_results,
    read_steps,
    readable_defaults,
    scope_outputs,
    shown_steps,
)
from couler.ir.semantics.status import State, refuse_start
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    Gathered,
    Outputs,
    Single,
    Stored,
    View,
    bind_input,
    foreach_items,
    gather,
    gather_one,
    holds,
)
from couler.ir.values import Value
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath
from couler.ir.wording import counted
from couler.ir.workflow import Input, Output


class UnknownValueError(Exception):
    """A value is read that is not known yet.

    Attributes
    ----------
    token
        What it is, if nothing that runs changes it; empty for what is to be made.
    """

    def __init__(self, token: str = "") -> None:
        super().__init__(token)
        self.token = token


class Unknown(Single):
    """A value, or a whole list, that is not known yet: it is passed on, but cannot be read.

    Examples
    --------
    >>> Unknown("", "int").type
    'int'
    """

    __slots__ = ()

    @property
    def token(self) -> str:
        """What the value is; empty if it is to be made."""
        return self[0]

    @property
    def text(self) -> str:
        """Raise `UnknownValueError`."""
        raise UnknownValueError(self[0])


def with_tokens(view: View) -> View:
    """Return a view in which unknown values that are there are known by their tokens."""

    def known(outputs: Mapping[str, Stored]) -> dict[str, Stored]:
        return {name: _token_of(stored) for name, stored in outputs.items()}

    return replace(
        view,
        parameters=known(view.parameters),
        steps={name: known(outputs) for name, outputs in view.steps.items()},
        items=known(view.items),
        round=None if view.round is None else known(view.round),
    )


def _token_of(stored: Stored) -> Stored:
    if isinstance(stored, Gathered):
        return Gathered(tuple(None if one is None else _single(one) for one in stored.items))
    return _single(stored)


def _single(stored: Single) -> Single:
    if isinstance(stored, Unknown) and stored.token:
        return Single(stored.token, "str")
    return stored


def unknown_outputs(outputs: Iterable[Output]) -> Outputs:
    """Return the outputs of a step that runs."""
    return {output.name: Unknown("", output.type) for output in outputs}


def bind_known(inputs: Iterable[Input], view: View) -> Mapping[str, Stored]:
    """Return what a group is given, as far as it is known."""
    bound: dict[str, Stored] = {}
    for given in inputs:
        try:
            bound[given.name] = bind_input(given, view)
        except UnknownValueError as error:
            bound[given.name] = Unknown(_made_token(error.token, given.value), given.type)
    return bound


def known_outputs(outputs: Iterable[Output], view: View) -> Outputs:
    """Return the outputs of a scope, as far as they are known."""
    known: dict[str, Stored] = {}
    for output in outputs:
        try:
            known.update(scope_outputs((output,), view))
        except UnknownValueError as error:
            known[output.name] = Unknown(_made_token(error.token, output.value), output.type)
    return known


def gather_known(outputs: Iterable[Output], items: Sequence[Outputs]) -> Outputs:
    """Return the lists that the items of a foreach give, each item as far as it is known."""
    known: dict[str, Stored] = {}
    for output in outputs:
        try:
            known.update(gather((output.name,), items))
        except UnknownValueError:  # nobody knows how large the list is
            known[output.name] = gather_one(output.name, items)
    return known


def _made_token(token: str, value: Value | None) -> str:
    """Return the token of a value that is made of an unknown one."""
    if not token or value is None:
        return ""
    return text_digest(f"{token} {value.model_dump_json()}")


Verdict: t.TypeAlias = t.Literal["reused", "cached", "runs", "skipped", "omitted"]


@dataclass(frozen=True, slots=True)
class PlannedStep:
    """What a retry of a run would do with a step that runs something."""

    path: str
    verdict: Verdict
    reason: str | None = None
    is_decided_anew: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """What is known of an instance that runs something."""

    verdict: t.Literal["reused", "cached", "runs"]
    state: State = "succeeded"
    outputs: Outputs = field(default_factory=dict)
    since: int = 0
    reason: str | None = None
    cache: str | None = None


class Known(t.Protocol):
    """Finds what need not run."""

    def find(self, instance: Instance, view: View, *, since: int) -> Finding:
        """Return what is known of an instance that runs something."""
        ...

    def foresee(
        self, instance: Instance, foresight: Foresight, progress: Progress
    ) -> Finding | None:
        """Return how an instance ends that is found to run, if it need not for all that read it."""
        ...


def plan_replay(
    workflow: ir.Workflow,
    view: View,
    known: Known,
    *,
    read: Collection[str],
    all_handlers: bool = False,
) -> tuple[PlannedStep, ...]:
    """Return what a retry would do with each step, in the order in which they could run."""
    planner = _Planner(known)
    shown = shown_steps(workflow)
    ends = planner.walk_scope(workflow.steps, StepPath(), _Around(view), read=read, shown=shown)
    outputs = {name: end.outputs for name, end in ends.items()}
    after = _Around(
        replace(view, run=replace(view.run, status="succeeded"), steps=outputs),
        since=max((end.since for end in ends.values()), default=0),
        why="it runs after the steps, and not all of them are reused",
    )
    begin = len(planner.steps)
    planner.walk_handlers(workflow, after)
    is_any_run = any(step.verdict == "runs" for step in planner.steps)
    if all_handlers and after.since != RUNS and is_any_run:
        del planner.steps[begin:]
        planner.walk_handlers(workflow, replace(after, since=RUNS, why="exit handlers run again"))
    return tuple(planner.steps)


_How: t.TypeAlias = t.Literal["runs", "is cached", "comes after what is not reused"]
_HOWS: tuple[_How, ...] = t.get_args(_How)
"""The first one tells most to those that wait for several steps."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """How a step is expected to end; `since` as of an `End`, `how` where that is `RUNS`."""

    state: State
    outputs: Outputs
    since: int = 0
    how: _How = "comes after what is not reused"


@dataclass(frozen=True, slots=True)
class _Around:
    """What holds for everything in a scope."""

    view: View
    since: int = 0
    why: str = ""
    is_sure: bool = True
    foresee: Callable[[Instance], Finding | None] = lambda _instance: None


class _Planner:
    def __init__(self, known: Known) -> None:
        self.steps: list[PlannedStep] = []
        self._known = known

    def walk_handlers(self, workflow: ir.Workflow, after: _Around) -> None:
        """Plan the exit handlers of a run that succeeds."""
        for handler in workflow.exit_handlers:
            if handler.on != "failure":
                path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
                read = read_results(handler.steps, ())
                self.walk_scope(handler.steps, path, after, read=read, shown=())

    def walk_scope(
        self,
        steps: tuple[ir.Step, ...],
        path: StepPath,
        around: _Around,
        *,
        read: Collection[str],
        shown: Collection[str],
    ) -> Mapping[str, _Expected]:
        """Plan the steps of a scope, each after those that it waits for."""
        by_name = {step.name: step for step in steps}
        graph = Graph.of(steps)
        ends: dict[str, _Expected] = {}
        states: dict[str, State] = {}
        readable: dict[str, Outputs] = dict(around.view.steps)
        view = replace(around.view, steps=readable)
        make = cache(partial(Foresight, steps, graph, path, read=read, shown=shown))

        def foresee(instance: Instance) -> Finding | None:
            runs = frozenset(name for name, end in ends.items() if end.how == "runs")
            sinces = {name: end.since for name, end in ends.items() if name not in runs}
            ended = {name: states[name] for name in sinces}
            progress = Progress(view, around.since, ended, sinces, runs)
            return self._known.foresee(instance, make(), progress)

        for name in graph.topological_order:
            step = by_name[name]
            instance = Instance(step, path / name, outputs_of(step, is_read=name in read))
            if not instance.is_shown:
                instance = instance.at(path)
            before = {it: ends[it] for it in graph.predecessors[name]}
            since = max((around.since, *(end.since for end in before.values())))
            why = _why(before) or around.why
            inside = replace(around, view=view, since=since, why=why, foresee=foresee)
            end = self._plan_step(instance, inside, states)
            # As in a run: what is left out hands on what it would have waited for.
            ends[name] = end = replace(end, since=max(since, end.since))
            states[name] = end.state
            readable[name] = end.outputs
        return ends

    def _plan_step(
        self, instance: Instance, around: _Around, states: Mapping[str, State]
    ) -> _Expected:
        step = instance.step
        refusal = refuse_start(step, states)
        if refusal is not None:
            assumed = "it needs a failure, and a plan has what runs succeed"
            reason = assumed if around.since == RUNS else refusal.reason
            return self._leave_out(instance, refusal.state, reason, around)
        try:
            if step.when is not None and not holds(step.when, around.view):
                return self._leave_out(instance, "skipped", "its condition is false", around)
        except UnknownValueError:
            end = self._plan_all(instance, replace(around, is_sure=False))
            return replace(end, outputs=unknown_outputs(instance.outputs))
        except VALUE_ERRORS as error:
            return self._run(instance, around, f"it failed: {error}")
        return self._plan_all(instance, around)

    def _plan_all(self, instance: Instance, around: _Around) -> _Expected:
        step = instance.step
        try:
            if step.foreach is None:
                return self._plan_item(instance, around)
            return self._plan_foreach(instance, step.foreach, around)
        except UnknownValueError:
            return self._run(instance, around, around.why)
        except VALUE_ERRORS as error:
            return self._run(instance, around, f"it failed: {error}")

    def _plan_foreach(self, instance: Instance, foreach: Foreach, around: _Around) -> _Expected:
        items = foreach_items(foreach, around.view)
        ends = [
            self._plan_item(
                instance.at(instance.path.at_item(index)),
                replace(around, view=replace(around.view, items=item)),
            )
            for index, item in enumerate(items)
        ]
        return _whole(ends, gather_known(instance.outputs, [end.outputs for end in ends]))

    def _plan_item(self, instance: Instance, around: _Around) -> _Expected:
        loop = instance.step.loop
        if loop is None:
            return self._plan_once(instance, around)
        return self._plan_loop(instance, loop, around)

    def _plan_loop(self, instance: Instance, loop: Loop, around: _Around) -> _Expected:
        ends: list[_Expected] = []
        for number in range(loop.max_iterations):
            end = self._plan_once(instance.at(instance.path.at_round(number)), around)
            ends.append(end)
            around = replace(around, view=replace(around.view, round=end.outputs))
            try:
                if not holds(loop.condition, around.view):
                    return _whole(ends, end.outputs)
            except UnknownValueError:
                if end.how != "runs":  # that others may follow is not told by the round itself
                    self._run(instance, around, around.why)
                return _running(instance)
            except VALUE_ERRORS as error:
                return self._run(instance, around, f"it failed: {error}")
            if end.since == RUNS and around.since != RUNS:
                around = replace(around, why=f"it follows round {number}, which {end.how}")
            around = replace(around, since=max(around.since, end.since))
        return self._run(
            instance, around, f"it needs more than {counted(loop.max_iterations, 'round')}"
        )

    def _plan_once(self, instance: Instance, around: _Around) -> _Expected:
        action = instance.step.action
        try:
            if isinstance(action, ir.Group):
                return self._plan_group(instance, action, around)
            return self._plan_leaf(instance, around)
        except VALUE_ERRORS as error:
            return self._run(instance, around, f"it failed: {error}")

    def _plan_leaf(self, instance: Instance, around: _Around) -> _Expected:
        found = self._known.find(instance, around.view, since=around.since)
        if found.verdict == "runs" and found.cache is not None:
            found = around.foresee(instance) or found
        match found.verdict:
            case "reused":
                self._tell(instance, "reused", found.cache, around)
                return _Expected(found.state, found.outputs, found.since)
            case "cached":
                self._tell(instance, "cached", _on_condition(found.cache or "", around), around)
                return _Expected(found.state, found.outputs, RUNS, "is cached")
            case "runs":
                why = around.why if found.reason is None else found.reason
                return self._run(instance, around, why, cache=found.cache)
        t.assert_never(found.verdict)

    def _plan_group(self, instance: Instance, group: ir.Group, around: _Around) -> _Expected:
        step = instance.step
        view = View(around.view.run, parameters=bind_known(step.inputs, around.view))
        read = read_results(group.steps, (output.value for output in step.outputs))
        shown = read_steps(output.value for output in step.outputs)
        inside = replace(around, view=view)
        ends = self.walk_scope(group.steps, instance.path, inside, read=read, shown=shown)
        outputs = {name: end.outputs for name, end in ends.items()}
        given = known_outputs(step.outputs, replace(view, steps=outputs))
        return _whole(ends.values(), given)

    def _run(
        self, instance: Instance, around: _Around, why: str, *, cache: str | None = None
    ) -> _Expected:
        told = why if cache is None else f"{why}; cache: {cache}"
        self._tell(instance, "runs", _on_condition(told, around), around)
        return _running(instance)

    def _leave_out(
        self,
        instance: Instance,
        state: t.Literal["skipped", "omitted"],
        why: str,
        around: _Around,
    ) -> _Expected:
        self._tell(instance, state, why, around)
        return _Expected(state, readable_defaults(instance))

    def _tell(
        self, instance: Instance, verdict: Verdict, reason: str | None, around: _Around
    ) -> None:
        is_decided_anew = around.since == RUNS
        self.steps.append(PlannedStep(str(instance.path), verdict, reason, is_decided_anew))


def _running(instance: Instance) -> _Expected:
    return _Expected("succeeded", unknown_outputs(instance.outputs), RUNS, "runs")


def _whole(ends: Iterable[_Expected], outputs: Outputs) -> _Expected:
    """Return the end of what has others inside, by theirs."""
    inside = tuple(ends)
    hows = {end.how for end in inside if end.since == RUNS}
    return _Expected(
        "succeeded",
        outputs,
        max((end.since for end in inside), default=0),
        next((how for how in _HOWS if how in hows), _HOWS[-1]),
    )


def _why(before: Mapping[str, _Expected]) -> str | None:
    """Return why a step is not reused, if that is because of a step that it waits for."""
    for how in _HOWS:
        for name, end in before.items():
            if end.since == RUNS and end.how == how:
                return f"it depends on {name}, which {how}"
    return None


def _on_condition(why: str, around: _Around) -> str:
    return why if around.is_sure else f"{why}, if its condition holds"
