"""Pipelines of passes, each checked: the first that breaks a workflow is named."""

from __future__ import annotations

import time
import typing as t
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import EntryPoint

from couler.errors import ConfigurationError, EngineOptionError, InvalidWorkflowError
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.verify import verify
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
from couler.optimizers.log import PassLog, PassRecord
from couler.options.registry import PluginFactory, PluginKind

if t.TYPE_CHECKING:
    from couler.options.types import Option

_DEFAULT_PASSES: tuple[str, ...] = ("split",)
"""Names of passes of Couler's own, in order."""

GROUP = "couler.passes"
"""The group of entry points; each names a class that makes a `Pass` with default options."""

_PASSES: PluginKind[Pass] = PluginKind(GROUP, "pass", Pass)  # type: ignore[type-abstract]  # a protocol that is only compared with

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
    from couler.options.text import parse_plugin

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
