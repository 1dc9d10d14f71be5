"""Pipelines of passes, each checked, and their log: what each pass did and why."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import EntryPoint

from couler.errors import ConfigurationError, EngineOptionError, InvalidWorkflowError
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.verify import verify
from couler.ir.walk import scopes, steps_by_path
from couler.ir.workflow import Workflow
from couler.optimizers.base import (
    History,
    Kept,
    Machines,
    Pass,
    PassContext,
    Refusals,
    Timings,
    Tuned,
    Weigh,
    defaults_of,
    fits_engine,
    options_of,
)
from couler.plugins import PluginFactory, PluginKind

if t.TYPE_CHECKING:
    from couler.optimizers.diff import Change
    from couler.optimizers.estimate import Figure, StepTimes
    from couler.plugin_options import Option

_DEFAULT_PASSES: tuple[str, ...] = ("split",)
"""Names of passes of Couler's own, in order."""

GROUP = "couler.passes"
"""The group of entry points; each names a class that makes a `Pass` with default options."""

_PASSES: PluginKind[Pass] = PluginKind(GROUP, "pass", Pass)  # type: ignore[type-abstract]  # a protocol that is only compared with


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


Callback = Callable[[PassRecord], None]
"""Is called after each pass: for timing, dumps, differences. After a pass that broke the workflow,
too; the record then has errors."""


@dataclass(frozen=True)
class Pipeline:
    """Passes that run one after the other."""

    passes: tuple[Pass, ...] = ()
    callbacks: tuple[Callback, ...] = ()
    name: str | None = None

    def __iter__(self) -> Iterator[Pass]:
        """Yield the passes in order."""
        return iter(self.passes)

    def run(
        self,
        workflow: Workflow,
        *,
        engine: str | None = None,
        profile: str | None = None,
        weigh: Weigh | None = None,
        refusals: Refusals | None = None,
        history: History | None = None,
        timings: Timings | None = None,
        cluster: Machines | None = None,
        kept: Kept | None = None,
        tuned: Tuned | None = None,
        verified: bool = False,
    ) -> tuple[Workflow, PassLog]:
        """Run the passes, and verify before the first and after each."""
        if not self.passes:
            return workflow, PassLog(pipeline=self.name)
        if not verified:
            errors = _errors(verify(workflow))
            if errors:
                raise InvalidWorkflowError("the workflow is not valid", errors)
        records: list[PassRecord] = []
        for pass_ in self.passes:
            context = PassContext(
                engine=engine,
                profile=profile,
                weigh=weigh,
                refusals=refusals,
                history=history,
                timings=timings,
                cluster=cluster,
                kept=kept,
                tuned=tuned,
                known_times=records[-1].known_times if records else {},
            )
            record = _run_one(pass_, workflow, context)
            records.append(record)
            workflow = record.after
            for callback in self.callbacks:
                callback(record)
            if record.errors:
                message = f'the pass "{record.name}" made a workflow that is not valid'
                raise InvalidWorkflowError(message, record.errors)
        return workflow, PassLog(tuple(records), self.name)


def default_names() -> tuple[str, ...]:
    """Return the names of the passes that a plan runs unless others are asked for."""
    return _DEFAULT_PASSES


def default_pipeline() -> Pipeline:
    """The passes that a plan runs unless others are asked for: those of `_DEFAULT_PASSES`."""
    return Pipeline(tuple(map(built_in_pass, _DEFAULT_PASSES)))


def _run_one(pass_: Pass, workflow: Workflow, context: PassContext) -> PassRecord:
    start = time.perf_counter()
    after = _result(pass_, workflow, context)
    done = time.perf_counter()
    errors = () if after is workflow else _errors(verify(after))
    return PassRecord(
        name=pass_.name,
        options=options_of(pass_),
        seconds=done - start,
        reason=context.reason,
        derived=context.derived,
        gave_up=tuple(context.gave_up),
        facts=context.facts,
        cost=context.cost,
        times=context.times,
        made_times=context.made_times,
        times_before=context.known_times,
        before=workflow,
        after=after,
        step_reasons=context.step_reasons,
        verify_seconds=time.perf_counter() - done,
        errors=errors,
        defaults=defaults_of(pass_),
        item_steps=frozenset(context.item_steps),
    )


def _result(pass_: Pass, workflow: Workflow, context: PassContext) -> Workflow:
    try:
        after: object = pass_.run(workflow, context)
    except Exception as error:
        error.add_note(
            f'It happened in the pass "{pass_.name}"; --no-pass {pass_.name} leaves it out'
        )
        raise
    if not isinstance(after, Workflow):
        raise ConfigurationError(
            f'the pass "{pass_.name}" gave {type(after).__name__}, not a workflow. Mend it, or '
            f"leave it out: --no-pass {pass_.name}"
        )
    return after


def _errors(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(diagnostic for diagnostic in diagnostics if diagnostic.severity == "error")


DEFAULT = "default"
"""The pipeline that runs unless another one is asked for."""

NONE = "none"
"""The pipeline without passes."""

BUILT_IN = (DEFAULT, NONE)


def select_passes(
    pipeline: str = DEFAULT,
    *,
    add: Sequence[str] = (),
    without: Sequence[str] = (),
    named: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Pass, ...]:
    """Return the passes of a pipeline, changed as asked."""
    passes = list(_of_pipeline(pipeline, named or {}))
    from couler.plugin_options import parse_plugin

    added = [parse_plugin(_PASSES.what, text) for text in add]
    names = [one.name for one in added]
    for name in dict.fromkeys(names):
        if names.count(name) > 1:
            raise EngineOptionError(f'the pass "{name}" is added twice; give its options together')
        if name in without:
            raise EngineOptionError(f'the pass "{name}" is both added and left out')
    known = {pass_.name for pass_ in passes}
    for name in without:
        if name not in known and name not in (installed := pass_names()):
            raise EngineOptionError(
                f'there is no pass "{name}" to leave out; installed: '
                f"{', '.join(installed) or 'none'}.{did_you_mean(name, installed)}"
            )
    passes = [pass_ for pass_ in passes if pass_.name not in without]
    for one in added:
        if one.name not in known:
            new = _PASSES.make(one)
            end = len(passes)
            while end and fits_engine(passes[end - 1]) and not fits_engine(new):
                end -= 1
            passes.insert(end, new)
        elif one.options is not None:
            passes = [_PASSES.make(one) if pass_.name == one.name else pass_ for pass_ in passes]
    return tuple(passes)


def _of_pipeline(name: str, named: Mapping[str, Sequence[str]]) -> tuple[Pass, ...]:
    if name == DEFAULT:
        return default_pipeline().passes
    if name == NONE:
        return ()
    if name not in named:
        known = (*BUILT_IN, *named)
        raise EngineOptionError(
            f'there is no pipeline "{name}"; there are: {", ".join(known)}.'
            f"{did_you_mean(name, known)}"
        )
    try:
        passes = tuple(read_pass(text) for text in named[name])
    except EngineOptionError as error:
        raise ConfigurationError(f'pipeline "{name}": {error}') from error
    fitting = [pass_.name for pass_ in passes if fits_engine(pass_)]
    for one in dict.fromkeys(fitting):
        if fitting.count(one) > 1:
            raise ConfigurationError(
                f'pipeline "{name}": the pass "{one}" stands in it twice, and what the first has '
                "fitted to the engine the second leaves as it is; give its options together"
            )
    return passes


def pass_names() -> tuple[str, ...]:
    """Return the names of the installed passes, sorted; none is loaded."""
    return _PASSES.names()


def read_pass(text: str) -> Pass:
    """Load the pass that a text names, with the options that it gives."""
    return _PASSES.read(text)


def built_in_pass(name: str) -> Pass:
    """Load a pass of Couler's own with its default options, without looking at other plugins."""
    return _PASSES.built_in(name)


def load_pass_class(name: str) -> tuple[EntryPoint, PluginFactory, tuple[Option, ...]]:
    """Return where a pass comes from, its class, and its options."""
    return _PASSES.load_class(name)


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
