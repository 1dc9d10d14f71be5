"""Checking a workflow: what holds everywhere, and what an engine can do."""

from __future__ import annotations

from collections.abc import Iterable

from couler.backends.base import Backend, Target, unsupported_uses
from couler.backends.registry import backend_names, get_backend
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.defaults import resolve_defaults
from couler.ir.diagnostics import Diagnostic
from couler.ir.storages import fill_locations
from couler.ir.verify import verify
from couler.ir.workflow import Workflow
from couler.stages.overrides import check_overrides, find_overrides
from couler.stages.workflows import AnyWorkflow, as_ir


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
    source, found = as_ir(workflow)
    resolved = fill_locations(resolve_defaults(source), target.storages)
    found += verify_everywhere(resolved)
    sound = not any(diagnostic.severity == "error" for diagnostic in found)
    for name in dict.fromkeys(engines):
        backend = get_backend(name)
        found += unsupported(resolved, backend, target)
        if sound:  # an engine's own check may rely on what verification ensures
            found += tuple(backend.check(resolved, target))
    return sort_diagnostics(found)


def verify_everywhere(workflow: Workflow) -> tuple[Diagnostic, ...]:
    """Return what is wrong with a workflow without defaults, whatever engine it is for."""
    found = tuple(verify(workflow))
    overrides = tuple(find_overrides(workflow))
    if overrides:  # most workflows have none, and looking for what is installed takes time
        found += tuple(check_overrides(overrides, backend_names()))
    return found


def sort_diagnostics(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return diagnostics by file and line, each once; those without a place come last."""

    def place(diagnostic: Diagnostic) -> tuple[bool, str, int, str]:
        source = diagnostic.source
        if source is None:
            return (True, "", 0, diagnostic.code)
        return (False, source.file, source.line, diagnostic.code)

    return tuple(sorted(dict.fromkeys(diagnostics), key=place))


def check_engine(workflow: Workflow, backend: Backend, target: Target) -> tuple[Diagnostic, ...]:
    """Return the engine's warnings; refuse what it cannot do."""
    missing = sort_diagnostics(unsupported(workflow, backend, target))
    if missing:
        raise UnsupportedFeatureError(
            f'{backend.name} cannot run the workflow "{workflow.name}"', missing
        )
    found = tuple(backend.check(workflow, target))
    refuse_errors(workflow, found)
    return found


def unsupported(workflow: Workflow, backend: Backend, target: Target) -> tuple[Diagnostic, ...]:
    """Return what an engine lacks; the other engines are loaded only to be named as able."""
    if not any(unsupported_uses(workflow, backend, target, {})):
        return ()
    others = {name: get_backend(name).capabilities(Target()) for name in backend_names()}
    return tuple(unsupported_uses(workflow, backend, target, others))


def refuse_errors(workflow: Workflow, diagnostics: Iterable[Diagnostic]) -> None:
    """Raise `InvalidWorkflowError` with all errors among the diagnostics, if there are any."""
    errors = [diagnostic for diagnostic in diagnostics if diagnostic.severity == "error"]
    if errors:
        raise InvalidWorkflowError(
            f'the workflow "{workflow.name}" is not valid', sort_diagnostics(errors)
        )
