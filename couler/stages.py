"""The stages of a workflow: `Workflow -> Plan -> Artifact -> Run`.

Each stage takes what the one before gave, as data that can be looked at. Only `run` starts
processes.
"""

from __future__ import annotations

import typing as t
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from couler.backends.base import Artifact, Backend, Target, unsupported_uses
from couler.backends.registry import backend_names, get_backend
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.optimizers.base import Pass
from couler.optimizers.log import PassLog, PassRecord, Size, measure
from couler.optimizers.log_text import growth_text, log_text
from couler.optimizers.pipeline import Pipeline, default_pipeline
from couler.optimizers.registry import get_pass

SCHEMA_VERSION = 1
"""Version of the JSON that the stages give."""


@t.runtime_checkable
class ProgramWorkflow(t.Protocol):
    """A workflow as a program built it: it turns into IR, and keeps what went wrong on the way."""

    @property
    def name(self) -> str:
        """Name of the workflow."""
        ...

    @property
    def diagnostics(self) -> Sequence[Diagnostic]:
        """What is wrong with the program, as far as building it could tell."""
        ...

    def to_ir(self) -> Workflow:
        """Return the workflow."""
        ...


AnyWorkflow: t.TypeAlias = Workflow | ProgramWorkflow


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
    engine
        Name of the engine that it is for; None for any.
    target
        The settings of that engine.
    """

    source: Workflow
    workflow: Workflow
    log: PassLog = field(default_factory=PassLog)
    diagnostics: tuple[Diagnostic, ...] = ()
    engine: str | None = None
    target: Target = field(default_factory=Target)

    @cached_property
    def size_before(self) -> Size:
        """Size of the workflow before the first pass."""
        return measure(self.source)

    @cached_property
    def size_after(self) -> Size:
        """Size of the workflow after the last pass."""
        return self.size_before if self.workflow is self.source else measure(self.workflow)

    def to_text(self) -> str:
        """Return the plan as text: a table of the passes with their changes, and the sizes."""
        aim = "any engine" if self.engine is None else self.engine
        before, after = self.size_before, self.size_after
        sizes = (
            f"steps {growth_text(before.steps, after.steps)}, "
            f"edges {growth_text(before.edges, after.edges)}, "
            f"bytes {growth_text(before.size_bytes, after.size_bytes)}"
        )
        title = f'plan of "{self.workflow.name}" for {aim}'
        warnings = [str(diagnostic) for diagnostic in self.diagnostics]
        return "\n".join([title, "", log_text(self.log.records), "", sizes, *warnings])

    def to_json(self) -> dict[str, t.Any]:
        """Return the plan as JSON, the workflows left out."""
        return {
            "schema_version": SCHEMA_VERSION,
            "workflow": self.workflow.name,
            "engine": self.engine,
            "passes": self.log.to_json(),
            "before": _size_json(self.size_before),
            "after": _size_json(self.size_after),
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
    source, found = _as_ir(workflow)
    resolved = resolve_defaults(source)
    found += tuple(verify(resolved))
    _refuse_errors(source, found)
    if engine is not None:
        found += _check_engine(resolved, get_backend(engine), target)
    planned, log = _pipeline(passes).run(
        resolved, engine=engine, profile=target.profile, verified=True
    )
    if resolved is not source:
        merged = PassRecord(
            "resolve-defaults", {}, 0.0, "The workflow states defaults.", {}, source, resolved
        )
        log = PassLog((merged, *log.records))
    return Plan(source, planned, log, found, engine, target)


def compile(  # named as the command is
    workflow: AnyWorkflow | Plan,
    engine: str,
    *,
    target: Target | None = None,
    format: str = "yaml",
) -> Artifact:
    """Turn a workflow into files for an engine.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR, or a plan.
    engine
        Name of the engine.
    target
        Settings of the engine; None for those of the plan, or the engine's own.
    format
        Format of the files, one that the engine knows.

    Returns
    -------
    Artifact
        The same, byte for byte, for the same workflow.

    Raises
    ------
    InvalidWorkflowError
        The workflow has errors; the exception lists all of them.
    UnsupportedFeatureError
        The engine cannot do what the workflow asks; the exception lists every place.
    EngineOptionError
        The engine, the profile, the format or an option is unknown.
    """
    if not isinstance(workflow, Plan):
        workflow = plan(workflow, engine=engine, target=target)
    backend = get_backend(engine)
    target = workflow.target if target is None else target
    if (engine, target) != (workflow.engine, workflow.target):
        _check_engine(workflow.workflow, backend, target)
    return backend.compile(workflow.workflow, target, format=format)


def show(workflow: AnyWorkflow, as_: str = "tree") -> str:
    """Return a picture of a workflow as text.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR; it need not be valid.
    as_
        `tree`, `mermaid`, `dot`, `svg` or `json`.

    Raises
    ------
    EngineOptionError
        There is no such picture.
    """
    from couler.show import render

    return render(_as_ir(workflow)[0], as_)


def diagnose(
    workflow: AnyWorkflow, engines: Iterable[str] = (), *, target: Target | None = None
) -> tuple[Diagnostic, ...]:
    """Return all that is wrong with a workflow, in the order of the program's lines.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    engines
        Names of engines to check for.
    target
        Settings of these engines.

    Raises
    ------
    EngineOptionError
        An engine or its profile is unknown.
    """
    target = Target() if target is None else target
    source, found = _as_ir(workflow)
    resolved = resolve_defaults(source)
    found += tuple(verify(resolved))
    sound = not any(diagnostic.severity == "error" for diagnostic in found)
    for name in dict.fromkeys(engines):
        backend = get_backend(name)
        found += _unsupported(resolved, backend, target)
        if sound:  # an engine's own check may rely on what verification ensures
            found += tuple(backend.check(resolved, target))
    return sort_diagnostics(found)


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return diagnostics by file and line, each once; those without a place come last."""

    def place(diagnostic: Diagnostic) -> tuple[bool, str, int, str]:
        source = diagnostic.source
        if source is None:
            return (True, "", 0, diagnostic.code)
        return (False, source.file, source.line, diagnostic.code)

    return tuple(sorted(dict.fromkeys(diagnostics), key=place))


def _as_ir(workflow: AnyWorkflow) -> tuple[Workflow, tuple[Diagnostic, ...]]:
    if isinstance(workflow, Workflow):
        return workflow, ()
    converted = workflow.to_ir()
    return converted, tuple(workflow.diagnostics)


def _pipeline(passes: Iterable[Pass | str] | None) -> Pipeline:
    if passes is None:
        return default_pipeline()
    return Pipeline(tuple(get_pass(one) if isinstance(one, str) else one for one in passes))


def _check_engine(workflow: Workflow, backend: Backend, target: Target) -> tuple[Diagnostic, ...]:
    """Return the engine's warnings; refuse what it cannot do."""
    missing = sort_diagnostics(_unsupported(workflow, backend, target))
    if missing:
        raise UnsupportedFeatureError(
            f'{backend.name} cannot run the workflow "{workflow.name}"', missing
        )
    found = tuple(backend.check(workflow, target))
    _refuse_errors(workflow, found)
    return found


def _unsupported(workflow: Workflow, backend: Backend, target: Target) -> tuple[Diagnostic, ...]:
    """Return what an engine lacks; the other engines are loaded only to be named as able."""
    if not any(unsupported_uses(workflow, backend, target, {})):
        return ()
    others = {name: get_backend(name).capabilities(Target()) for name in backend_names()}
    return tuple(unsupported_uses(workflow, backend, target, others))


def _refuse_errors(workflow: Workflow, diagnostics: Iterable[Diagnostic]) -> None:
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        raise InvalidWorkflowError(
            f'the workflow "{workflow.name}" is not valid', sort_diagnostics(errors)
        )


def _size_json(size: Size) -> dict[str, int]:
    return {"steps": size.steps, "edges": size.edges, "bytes": size.size_bytes}
