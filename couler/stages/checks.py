"""Checking a workflow: what holds everywhere, and what an engine can do."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from couler.backends import backend_names, get_backend
from couler.backends.base import Backend, Target, unsupported_uses
from couler.errors import InvalidWorkflowError, UnsupportedFeatureError
from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef
from couler.ir.verify import verify
from couler.ir.walk import scopes
from couler.ir.workflow import Step, Workflow
from couler.optimizers.base import Machines, Pass
from couler.optimizers.pipeline import PassLog, Pipeline
from couler.stages.rewriting import Origins, Retell, prepare, rewrite

if t.TYPE_CHECKING:
    from couler.cluster.model import Cluster


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


@t.runtime_checkable
class KnowsSecrets(t.Protocol):
    """A workflow whose program gives values of secrets."""

    def reveal_secrets(self) -> Mapping[str, Mapping[str, str]]:
        """Return the values by the names of the secrets and their keys."""
        ...


AnyWorkflow: t.TypeAlias = Workflow | ProgramWorkflow


def as_ir(workflow: AnyWorkflow) -> tuple[Workflow, tuple[Diagnostic, ...]]:
    """Return a workflow as IR, with what building it reported."""
    if isinstance(workflow, Workflow):
        return workflow, ()
    converted = workflow.to_ir()
    return converted, tuple(workflow.diagnostics)


def secrets_of(workflow: object) -> Mapping[str, Mapping[str, str]]:
    """Return the values of secrets that the program of a workflow gives, for a run in its process.

    They stand in no IR, and belong into no file, log or command line.
    """
    return workflow.reveal_secrets() if isinstance(workflow, KnowsSecrets) else {}


def diagnose(
    workflow: AnyWorkflow,
    engines: Iterable[str] = (),
    *,
    target: Target | None = None,
    passes: Iterable[Pass | str] | None = None,
    cluster: Cluster | Machines | None = None,
) -> tuple[Diagnostic, ...]:
    """Return all that is wrong with a workflow, in the order of the program's lines.

    What an engine refuses is found after the passes, as when the workflow is compiled. Without an
    engine only passes that are asked for run. A workflow that has errors goes through none.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    engines
        Names of engines to check for.
    target
        Settings of these engines.
    passes
        The passes in order, or their texts, see `plan`; None for the default ones.
    cluster
        The machines that steps can run on, see `plan`.

    Raises
    ------
    EngineOptionError
        An engine, its profile or a pass is unknown.
    """
    target = Target() if target is None else target
    source, found = as_ir(workflow)
    resolved, _ = prepare(source, target)
    found += verify_everywhere(resolved)
    sound = not any(diagnostic.severity == "error" for diagnostic in found)
    chosen = passes if passes is None or isinstance(passes, Pipeline) else tuple(passes)
    names = tuple(dict.fromkeys(engines))
    if sound and chosen and not names:
        found += _rewrite(resolved, None, target, chosen, cluster)[2]
    for name in names:
        backend = get_backend(name)
        if sound:  # passes and an engine's own check rely on what verification ensures
            found += _diagnose_engine(resolved, backend, target, chosen, cluster)
        else:
            found += unsupported(resolved, backend, target)
    return sort_diagnostics(found)


def _diagnose_engine(
    workflow: Workflow,
    backend: Backend,
    target: Target,
    passes: Iterable[Pass | str] | None,
    cluster: Cluster | Machines | None,
) -> tuple[Diagnostic, ...]:
    planned, log, broken = _rewrite(workflow, backend, target, passes, cluster)
    if broken:
        return broken
    retell = Origins(workflow, planned, log).retell
    missing = unsupported(planned, backend, target)
    return retell((*missing, *backend.check(planned, target)))


def _rewrite(
    workflow: Workflow,
    backend: Backend | None,
    target: Target,
    passes: Iterable[Pass | str] | None,
    cluster: Cluster | Machines | None,
) -> tuple[Workflow, PassLog, tuple[Diagnostic, ...]]:
    """Run the passes, and return what is wrong with the workflow if one of them broke it."""
    try:
        made = rewrite(workflow, backend=backend, target=target, passes=passes, cluster=cluster)
        return *made, ()
    except InvalidWorkflowError as error:
        what = str(error).partition("\n")[0]
        broken = (replace(one, message=f"{what}: {one.message}") for one in error.diagnostics)
        return workflow, PassLog(), tuple(broken)


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


def check_engine(
    workflow: Workflow, backend: Backend, target: Target, retell: Retell = tuple
) -> tuple[Diagnostic, ...]:
    """Return the engine's warnings; refuse what it cannot do.

    Parameters
    ----------
    workflow
        As it will be compiled.
    backend, target
        The engine.
    retell
        Turns what is told of steps into the user's terms.
    """
    missing = sort_diagnostics(retell(unsupported(workflow, backend, target)))
    if missing:
        raise UnsupportedFeatureError(
            f'{backend.name} cannot run the workflow "{workflow.name}"', missing
        )
    found = retell(backend.check(workflow, target))
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


NOT_INSTALLED_CODE = "CLR302"
"""Overrides for an engine that no installed distribution brings."""


@dataclass(frozen=True, slots=True)
class Override:
    """What a step or a workflow gives one engine: `engine={"argo": {...}}`.

    Attributes
    ----------
    engine
        Name of the engine.
    step
        Path of the step, or None for the workflow as a whole.
    content
        What is merged in, as JSON; each engine says what it takes.
    source
        Where in the user's program it was written, if that is known.
    """

    engine: str
    step: str | None
    content: t.Any
    source: SourceRef | None = None

    @property
    def place(self) -> str:
        """Where it is, in words.

        Examples
        --------
        >>> Override("argo", "fit", {}).place
        'step "fit"'
        """
        return "the workflow" if self.step is None else f'step "{self.step}"'

    def __str__(self) -> str:
        content = json.dumps(self.content, ensure_ascii=False, sort_keys=True)
        return f"{self.engine}, {self.place}: {content}"

    def to_json(self) -> dict[str, t.Any]:
        """Return the override as JSON: engine, step, content."""
        content = json.loads(json.dumps(self.content))  # lists and objects of the caller's own
        return {"engine": self.engine, "step": self.step, "content": content}


def find_overrides(workflow: Workflow) -> Iterator[Override]:
    """Yield every override, the workflow's own first, then the steps' in program order."""
    yield from _of(workflow, None)
    for scope in scopes(workflow):
        for step in scope.steps:
            if step.engine:  # few have any, and a path takes time
                yield from _of(step, scope.path_of(step))


def _of(owner: Step | Workflow, path: str | None) -> Iterator[Override]:
    for engine, content in owner.engine.items():
        yield Override(engine, path, content, owner.source)


def check_overrides(
    overrides: Iterable[Override], engines: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield a warning for each override that no engine takes.

    Parameters
    ----------
    overrides
        The overrides of a workflow.
    engines
        Names of the engines that are installed.

    Notes
    -----
    It is no error: the engine may be installed where the workflow is compiled for it.
    """
    for override in overrides:
        if override.engine in engines:
            continue
        yield Diagnostic(
            NOT_INSTALLED_CODE,
            f'{override.place} has overrides for the engine "{override.engine}", which is not '
            f"installed; they have no effect here. Installed: {', '.join(sorted(engines))}."
            f"{did_you_mean(override.engine, engines)}",
            step=override.step,
            source=override.source,
            severity="warning",
        )
