"""Running the passes for an engine, and the way back from what they made to the user's steps."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from couler.backends.base import Backend, Target, Weigher, unsupported_uses
from couler.ir.code_files import place_code
from couler.ir.defaults import fill_locations, resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.sizes import Footprint
from couler.ir.walk import scopes
from couler.ir.workflow import Step, Workflow
from couler.optimizers.base import (
    Kept,
    Machines,
    Pass,
    Refusals,
    TunedParameters,
    Weigh,
    fits_engine,
)
from couler.optimizers.pipeline import (
    Callback,
    PassLog,
    PassRecord,
    Pipeline,
    default_pipeline,
    read_pass,
)

if t.TYPE_CHECKING:
    from couler.cluster.model import Cluster
    from couler.stages.history import EarlierRuns


def weigher(backend: Backend | None, target: Target) -> Weigh | None:
    """Return what weighs workflows for an engine; None for one without limits, or without engine.

    It gives None for a workflow that the engine cannot run whatever its size is.
    """
    if backend is None or not isinstance(backend, Weigher) or not backend.limits(target).has_any:
        return None

    def weigh(workflow: Workflow) -> Footprint | None:
        if any(unsupported_uses(workflow, backend, target, {})):
            return None
        return backend.footprint(workflow, target)

    return weigh


def parts_are_barriers(backend: Backend | None, target: Target) -> bool | None:
    """Return whether an engine starts the parts of a split scope as a whole; None without one."""
    if backend is None:
        return None
    return isinstance(backend, Weigher) and backend.limits(target).parts_are_barriers


def refusals(backend: Backend | None, target: Target) -> Refusals | None:
    """Return what tells the errors of an engine; None without one."""
    if backend is None:
        return None

    def refused(workflow: Workflow) -> Sequence[Diagnostic]:
        missing = unsupported_uses(workflow, backend, target, {})
        checked = backend.check(workflow, target)
        return [one for one in (*missing, *checked) if one.severity == "error"]

    return refused


_MOST_STEPS = 5
"""A message names so many of the steps that something comes from; the others are counted."""


def prepare(source: Workflow, target: Target) -> tuple[Workflow, tuple[PassRecord, ...]]:
    """Merge the defaults and the storages of the target into the steps.

    Returns
    -------
    tuple of (Workflow, tuple of PassRecord)
        The workflow as passes take it, and what was done to it.
    """
    merged = resolve_defaults(source)
    filled = fill_locations(merged, target.storages)
    named = filled
    if target.options.get("image"):
        from couler.stages.images import name_images

        named = name_images(
            filled, target.options["image"], with_code=target.options.get("code") == "image"
        )
    placed = place_code(named, target.options, target.storages)
    done = (
        ("resolve-defaults", "The workflow states defaults.", source, merged),
        ("fill-locations", "Storages are stated for the target.", merged, filled),
        ("name-images", "The target names the images of couler image.", filled, named),
        ("place-code", "The target says how code comes to steps.", named, placed),
    )
    records = (
        PassRecord(name, {}, 0.0, reason, {}, before, after)
        for name, reason, before, after in done
        if after is not before
    )
    return placed, tuple(records)


def rewrite(
    workflow: Workflow,
    *,
    backend: Backend | None,
    target: Target,
    passes: Iterable[Pass | str] | None,
    on_pass: Callback | None = None,
    history: EarlierRuns | None = None,
    cluster: Cluster | Machines | None = None,
    kept: Kept | None = None,
) -> tuple[Workflow, PassLog]:
    """Run passes over a verified workflow without defaults.

    Raises
    ------
    InvalidWorkflowError
        A pass made a workflow that has errors; the pass is named.
    EngineOptionError
        A pass is unknown.
    """
    callbacks = () if on_pass is None else (on_pass,)
    chosen = default_pipeline() if passes is None else passes
    engine = None if backend is None else backend.name
    name = chosen.name if isinstance(chosen, Pipeline) else None
    return Pipeline(
        tuple(read_pass(one) if isinstance(one, str) else one for one in chosen), callbacks, name
    ).run(
        workflow,
        engine=engine,
        profile=target.profile,
        weigh=weigher(backend, target),
        refusals=refusals(backend, target),
        history=None if history is None else partial(history.profiles, workflow.name, engine),
        timings=None if history is None else history.timings,
        cluster=cluster if cluster is None or callable(cluster) else (lambda: cluster),
        kept=kept,
        tuned=_tuned,
        verified=True,
    )


def _tuned(file: str) -> TunedParameters:
    """Return what an outcome of `couler tune` tells."""
    from couler.tuning.outcome import read_outcome  # who fills no hyperparameters needs none

    return read_outcome(Path(file)).as_tuned()


Retell = Callable[[Iterable[Diagnostic]], tuple[Diagnostic, ...]]
"""Returns diagnostics in the user's terms."""


_LIMITS = ("CLR51", "CLR52", "CLR53")
"""How the codes begin that tell of the limits of an engine (`couler.ir.codes`)."""

_DIVISIBLE = ("CLR510", "CLR511", "CLR513")
"""Those of them for which parts can help."""


@dataclass(frozen=True)
class Origins:
    """Where the steps of a rewritten workflow come from.

    Attributes
    ----------
    source
        The workflow before the passes.
    workflow
        The workflow after them.
    log
        What they did.
    """

    source: Workflow
    workflow: Workflow
    log: PassLog

    def retell(self, diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
        """Return diagnostics that name the user's steps where a pass made the step.

        What is told of a limit of the engine has with it why passes did not keep it.

        Notes
        -----
        Where no pass changed anything, or nothing is told of a step, this takes no time.
        """
        found = tuple(map(self._with_reasons, diagnostics))
        if self.workflow is self.source or all(one.step is None for one in found):
            return found
        before, after = _by_path(self.source), _by_path(self.workflow)
        return tuple(self._retold(one, before, after) for one in found)

    def _with_reasons(self, one: Diagnostic) -> Diagnostic:
        if not one.code.startswith(_LIMITS):
            return one
        told = [
            f"The pass {record.name} says: {' '.join(record.gave_up) or record.reason}"
            for record in self.log.records
            if record.gave_up or (record.after is record.before and record.reason)
        ]
        if one.code in _DIVISIBLE:
            told += self._left_out
        return replace(one, message=" ".join([_ended(one.message), *told])) if told else one

    @cached_property
    def _left_out(self) -> list[str]:
        """What is told of passes of the default pipeline that fit workflows, and did not run."""
        ran = {record.name for record in self.log.records}
        missing = (one.name for one in default_pipeline() if fits_engine(one))
        pipeline = self.log.pipeline
        return [
            f"The pass {name}, which divides what is too large, is left out."
            if pipeline is None
            else f'The pipeline "{pipeline}" has no pass {name}, which divides what is too large.'
            for name in missing
            if name not in ran
        ]

    def _retold(
        self, one: Diagnostic, before: dict[str, Step], after: dict[str, Step]
    ) -> Diagnostic:
        if one.step is None or one.step not in after:
            return one
        sources = self.log.source_steps(one.step)
        if sources == (one.step,):
            return one
        if not sources:
            maker = after[one.step].origin
            made = f'The pass "{maker}" added the step.' if maker != "user" else ""
            return replace(one, message=f"{_ended(one.message)} {made}".rstrip())
        known = [before[path] for path in sources if path in before]
        names = [_place(path, before.get(path)) for path in sources[:_MOST_STEPS]]
        if len(sources) > _MOST_STEPS:
            names.append(f"{len(sources) - _MOST_STEPS:,} more")
        listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
        return replace(
            one,
            message=f"{_ended(one.message)} The step comes from {listed}.",
            source=one.source or next((step.source for step in known if step.source), None),
        )


def _by_path(workflow: Workflow) -> dict[str, Step]:
    return {scope.path_of(step): step for scope in scopes(workflow) for step in scope.steps}


def _place(path: str, step: Step | None) -> str:
    where = "" if step is None or step.source is None else f" ({step.source})"
    return f'"{path}"{where}'


def _ended(message: str) -> str:
    return message if message.endswith((".", "?", "!")) else f"{message}."
