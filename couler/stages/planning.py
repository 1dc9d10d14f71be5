"""From a workflow to a plan: the workflow as it will be compiled, and what was done to it."""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from couler.backends import get_backend
from couler.backends.base import Backend, Target, ignored_features, ignored_notes
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError, fold
from couler.ir.diagnostics import Diagnostic
from couler.ir.features import Feature
from couler.ir.workflow import Workflow
from couler.optimizers.base import Kept, Machines, Pass
from couler.optimizers.pipeline import Callback, PassLog, Size, measure
from couler.stages.checks import (
    AnyWorkflow,
    Override,
    as_ir,
    check_engine,
    find_overrides,
    refuse_errors,
    verify_everywhere,
)
from couler.stages.rewriting import Origins, parts_are_barriers, prepare, rewrite

if t.TYPE_CHECKING:
    from couler.cluster.model import Cluster
    from couler.ir.source_map import SourceMap
    from couler.optimizers.estimate import Estimate, Figure, Prices
    from couler.optimizers.log_text import Row
    from couler.stages.history import EarlierRuns

SCHEMA_VERSION = 1
"""Version of the JSON of a plan."""

MACHINE_CURRENCY = "USD"
"""What the prices of machines are in."""

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
        Warnings; a workflow with errors has no plan. With a refusal, its errors come after them.
    backend
        The engine that it is for; None for any.
    target
        The settings of that engine.
    prices
        What compute costs, for the estimates.
    refusal
        What its engine refuses, of a plan that is only looked at; such a plan is not compiled.
    """

    source: Workflow
    workflow: Workflow
    log: PassLog = field(default_factory=PassLog)
    diagnostics: tuple[Diagnostic, ...] = ()
    backend: Backend | None = None
    target: Target = field(default_factory=Target)
    prices: Prices | None = None
    refusal: InvalidWorkflowError | UnsupportedFeatureError | None = None

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
    def rows(self) -> tuple[Row, ...]:
        """Sizes and estimates before and after each pass, and as the last row of all of them."""
        from couler.optimizers.log_text import rows_of

        barriers = bool(self.parts_are_barriers)
        return rows_of(self.source, self.log.records, self.prices, parts_are_barriers=barriers)

    @property
    def parts_are_barriers(self) -> bool | None:
        """Whether its engine starts the parts of a split scope as a whole; None without one."""
        return parts_are_barriers(self.backend, self.target)

    @cached_property
    def overrides(self) -> tuple[Override, ...]:
        """What is merged in last for its engine; without an engine, for every one."""
        found = find_overrides(self.workflow)
        return tuple(one for one in found if self.engine in (None, one.engine))

    @cached_property
    def ignored(self) -> Mapping[Feature, str]:
        """The features that its engine ignores, and why."""
        if self.backend is None:
            return {}
        return ignored_features(self.workflow, self.backend, self.target)

    @property
    def known_text(self) -> str:
        """Of how many steps the estimates know."""
        from couler.optimizers.log_text import known_text

        whole = self.rows[-1]
        steps = whole.sizes[1].steps
        return known_text(
            whole.estimates[1],
            self.prices,
            steps,
            costs_by=self.costs_by,
            seconds_by=self.seconds_by,
            timed=len(self.log.records[-1].known_times) if self.log.records else 0,
        )

    @property
    def costs_by(self) -> str | None:
        """The pass that knows what machines cost, if the cost is that; None if it is by prices."""
        from couler.optimizers.log_text import pass_of_costs

        return pass_of_costs(self.log.records, self.prices)

    @property
    def seconds_by(self) -> str | None:
        """The pass that knows how long steps take on machines; None if it is by the profiles."""
        from couler.optimizers.log_text import pass_of_times

        return pass_of_times(self.log.records)

    @property
    def currency(self) -> str:
        """What the cost is in; empty if nobody says."""
        if self.costs_by is not None:
            return MACHINE_CURRENCY
        return "" if self.prices is None else self.prices.currency

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are not of the refusal."""
        return tuple(one for one in self.diagnostics if one.severity != "error")

    @property
    def title(self) -> str:
        """What the plan is of, and for."""
        return f'plan of "{self.workflow.name}" for {self.engine or "any engine"}'

    def to_text(self) -> str:
        """Return the plan as text: sizes and estimates, what each pass did, and the overrides.

        The refusal is not in it: it is told as the error that it is.
        """
        from couler.optimizers.log_text import log_text, table_text

        lines = [
            self.title,
            "",
            table_text(self.rows, self.currency),
            "",
            self.known_text,
            "",
            log_text(self.log.records),
            *_overrides_text(self.overrides),
            *(f"note: {note}" for note in ignored_notes(self.engine or "", self.ignored)),
            *(text for one, more in fold(self.warnings) for text in (str(one), more) if text),
        ]
        return "\n".join(lines)

    def to_json(self) -> dict[str, t.Any]:
        """Return the plan as JSON, the workflows left out."""
        *each, whole = self.rows
        return {
            "schema_version": SCHEMA_VERSION,
            "workflow": self.workflow.name,
            "engine": self.engine,
            "parts_are_barriers": self.parts_are_barriers,
            "passes": [
                {**record.to_json(), **_row_json(row)}
                for record, row in zip(self.log.records, each, strict=True)
            ],
            **_row_json(whole),
            "seconds_by": self.seconds_by,
            "costs_by": self.costs_by,
            "currency": self.currency,
            "sources": {path: list(sources) for path, sources in self.made_steps.items()},
            "ignored": [{"feature": one.value, "why": why} for one, why in self.ignored.items()],
            "overrides": [override.to_json() for override in self.overrides],
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
        }

    @property
    def origins(self) -> Origins:
        """Where its steps come from."""
        return Origins(self.source, self.workflow, self.log)

    @cached_property
    def source_map(self) -> SourceMap:
        """Where in a run the steps of the program are that have another place there, or none."""
        from couler.optimizers.source_map import make_source_map  # who only compiles needs none

        return make_source_map(self.source, self.log)

    @cached_property
    def made_steps(self) -> Mapping[str, tuple[str, ...]]:
        """For each step that a pass made, moved or added, the user's steps that it comes from."""
        if not self.log.records:
            return {}
        paths = self.log.records[-1].sources
        found = {path: self.log.source_steps(path) for path in paths}
        return {path: sources for path, sources in found.items() if sources != (path,)}


def plan(
    workflow: AnyWorkflow,
    *,
    engine: str | None = None,
    target: Target | None = None,
    passes: Iterable[Pass | str] | None = None,
    on_pass: Callback | None = None,
    prices: Prices | None = None,
    keep_refusal: bool = False,
    history: EarlierRuns | None = None,
    cluster: Cluster | Machines | None = None,
    kept: Kept | None = None,
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
        The passes in order, or their texts, `name` or `name{option=value,...}`; None for the
        default ones.
    on_pass
        Called after each pass with what it did: for timing, differences and dumps. The first
        calls are for defaults and storages that were merged in.
    prices
        What compute costs, for the estimates of the plan.
    keep_refusal
        To look at: what the engine refuses is kept as `Plan.refusal`, and not raised.
    history
        What earlier runs took (`couler.stages.history.earlier_runs`), for passes that need it; they
        ask for it only where profiles leave something open.
    cluster
        The machines that steps can run on (`couler.cluster`), for passes that choose among them; or
        what gives them if a pass asks.
    kept
        Gives which steps do not run again in a run elsewhere that is taken up.

    Raises
    ------
    InvalidWorkflowError
        The workflow has errors; the exception lists all of them.
    UnsupportedFeatureError
        The engine cannot do what the workflow asks; the exception lists every place. Where a pass
        made the step, the message names the user's.
    EngineOptionError
        The engine, the profile or a pass is unknown.
    """
    target = Target() if target is None else target
    source, found = as_ir(workflow)
    resolved, prepared = prepare(source, target)
    found += verify_everywhere(resolved)
    refuse_errors(source, found)
    backend = None if engine is None else get_backend(engine)
    if on_pass is not None:
        for record in prepared:
            on_pass(record)
    planned, log = rewrite(
        resolved,
        backend=backend,
        target=target,
        passes=passes,
        on_pass=on_pass,
        history=history,
        cluster=cluster,
        kept=kept,
    )
    refusal: InvalidWorkflowError | UnsupportedFeatureError | None = None
    if backend is not None:  # after the passes: they may take away what an engine cannot do
        origins = Origins(resolved, planned, log)
        try:
            found += check_engine(planned, backend, target, retell=origins.retell)
        except (InvalidWorkflowError, UnsupportedFeatureError) as error:
            if not keep_refusal:
                raise
            refusal = error
            found += error.diagnostics
    log = PassLog((*prepared, *log.records), log.pipeline)
    return Plan(source, planned, log, found, backend, target, prices, refusal)


def _row_json(row: Row) -> dict[str, t.Any]:
    (size_before, size_after), (before, after) = row.sizes, row.estimates
    return {"before": _state_json(size_before, before), "after": _state_json(size_after, after)}


def _state_json(size: Size, figures: Estimate) -> dict[str, t.Any]:
    return {
        "steps": size.steps,
        "edges": size.edges,
        "bytes": size.size_bytes,
        "critical_path_s": _figure_json(figures.seconds),
        "peak_memory_bytes": _figure_json(figures.memory_bytes),
        "cost": _figure_json(figures.cost),
    }


def _figure_json(figure: Figure) -> dict[str, t.Any]:
    return {"value": figure.value, "known_steps": figure.known, "steps": figure.steps}


def _overrides_text(overrides: Sequence[Override]) -> list[str]:
    if not overrides:
        return []
    shown = [f"    {override}" for override in overrides[:_MOST_OVERRIDES]]
    rest = len(overrides) - len(shown)
    more = [f"    ... and {rest:,} more"] if rest else []
    return ["", "merged in last, as the program gives it:", *shown, *more, ""]
