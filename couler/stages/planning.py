"""From a workflow to a plan: the workflow as it will be compiled, and what was done to it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from couler.backends.base import Backend, Target
from couler.backends.registry import get_backend
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.storages import fill_locations
from couler.ir.workflow import Workflow
from couler.optimizers.base import Pass
from couler.optimizers.log import PassLog, PassRecord, Size, measure
from couler.optimizers.log_text import growth_text, log_text
from couler.optimizers.pipeline import Pipeline, default_pipeline
from couler.optimizers.registry import get_pass
from couler.stages.checks import check_engine, refuse_errors, verify_everywhere
from couler.stages.overrides import Override, find_overrides
from couler.stages.workflows import AnyWorkflow, as_ir

SCHEMA_VERSION = 1
"""Version of the JSON of a plan."""

_MOST_OVERRIDES = 20
"""More overrides than these are counted, not listed; the JSON has all."""


@dataclass(frozen=True)
class Plan:
    """A workflow as it will be compiled, and what was done to it.

    Attributes
    ----------
    source
        The workflow that the plan was made from.
    workflow
        The workflow after all passes, its defaults merged.
    log
        What each pass did.
    diagnostics
        Warnings; a workflow with errors has no plan.
    backend
        The engine that it is for; None for any.
    target
        The settings of that engine.
    """

    source: Workflow
    workflow: Workflow
    log: PassLog = field(default_factory=PassLog)
    diagnostics: tuple[Diagnostic, ...] = ()
    backend: Backend | None = None
    target: Target = field(default_factory=Target)

    @property
    def engine(self) -> str | None:
        """Name of the engine that it is for."""
        return None if self.backend is None else self.backend.name

    @cached_property
    def size_before(self) -> Size:
        """Size of the workflow before the first pass."""
        return measure(self.source)

    @cached_property
    def size_after(self) -> Size:
        """Size of the workflow after the last pass."""
        return self.size_before if self.workflow is self.source else measure(self.workflow)

    @cached_property
    def overrides(self) -> tuple[Override, ...]:
        """What is merged in last for its engine; without an engine, for every one."""
        found = find_overrides(self.workflow)
        return tuple(one for one in found if self.engine in (None, one.engine))

    def to_text(self) -> str:
        """Return the plan as text: what each pass changed, the sizes, and the overrides."""
        aim = "any engine" if self.engine is None else self.engine
        before, after = self.size_before, self.size_after
        sizes = (
            f"steps {growth_text(before.steps, after.steps)}, "
            f"edges {growth_text(before.edges, after.edges)}, "
            f"bytes {growth_text(before.size_bytes, after.size_bytes)}"
        )
        title = f'plan of "{self.workflow.name}" for {aim}'
        warnings = [str(diagnostic) for diagnostic in self.diagnostics]
        overrides = _overrides_text(self.overrides)
        lines = [title, "", log_text(self.log.records), "", sizes, *overrides, *warnings]
        return "\n".join(lines)

    def to_json(self) -> dict[str, t.Any]:
        """Return the plan as JSON, the workflows left out."""
        return {
            "schema_version": SCHEMA_VERSION,
            "workflow": self.workflow.name,
            "engine": self.engine,
            "passes": self.log.to_json(),
            "before": _size_json(self.size_before),
            "after": _size_json(self.size_after),
            "overrides": [override.to_json() for override in self.overrides],
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
        }


def plan(
    workflow: AnyWorkflow,
    *,
    engine: str | None = None,
    target: Target | None = None,
    passes: Iterable[Pass | str] | None = None,
) -> Plan:
    """Check a workflow and run the passes over it.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    engine
        Name of the engine that it is for; without one, only what holds everywhere is checked.
    target
        Settings of that engine.
    passes
        The passes in order, or their names; None for the default ones.

    Raises
    ------
    InvalidWorkflowError
        The workflow has errors; the exception lists all of them.
    UnsupportedFeatureError
        The engine cannot do what the workflow asks; the exception lists every place.
    EngineOptionError
        The engine, the profile or a pass is unknown.
    """
    target = Target() if target is None else target
    source, found = as_ir(workflow)
    merged = resolve_defaults(source)
    resolved = fill_locations(merged, target.storages)
    found += verify_everywhere(resolved)
    refuse_errors(source, found)
    backend = None if engine is None else get_backend(engine)
    planned, log = _pipeline(passes).run(
        resolved, engine=engine, profile=target.profile, verified=True
    )
    before = [
        PassRecord(name, {}, 0.0, reason, {}, earlier, later)
        for name, reason, earlier, later in (
            ("resolve-defaults", "The workflow states defaults.", source, merged),
            ("fill-locations", "Storages are stated for the target.", merged, resolved),
        )
        if later is not earlier
    ]
    log = PassLog((*before, *log.records))
    if backend is not None:  # after the passes: they may take away what an engine cannot do
        found += check_engine(planned, backend, target)
    return Plan(source, planned, log, found, backend, target)


def _pipeline(passes: Iterable[Pass | str] | None) -> Pipeline:
    if passes is None:
        return default_pipeline()
    return Pipeline(tuple(get_pass(one) if isinstance(one, str) else one for one in passes))


def _size_json(size: Size) -> dict[str, int]:
    return {"steps": size.steps, "edges": size.edges, "bytes": size.size_bytes}


def _overrides_text(overrides: Sequence[Override]) -> list[str]:
    if not overrides:
        return []
    shown = [f"    {override}" for override in overrides[:_MOST_OVERRIDES]]
    rest = len(overrides) - len(shown)
    more = [f"    ... and {rest:,} more"] if rest else []
    return ["", "merged in last, as the program gives it:", *shown, *more, ""]
