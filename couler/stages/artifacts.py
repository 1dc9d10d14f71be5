"""From a plan to files for an engine, and to pictures."""

from __future__ import annotations

import contextlib
import gc
import typing as t
from collections.abc import Iterable, Iterator
from dataclasses import replace

from couler.backends import get_backend
from couler.backends.base import (
    Artifact,
    Judge,
    Target,
    choose_format,
    ignored_features,
    ignored_notes,
)
from couler.errors import EngineOptionError
from couler.ir.diagnostics import Diagnostic
from couler.optimizers.base import Machines, Pass
from couler.stages.checks import AnyWorkflow, as_ir, check_engine
from couler.stages.planning import Plan, plan

if t.TYPE_CHECKING:
    from couler.cluster.model import Cluster


def compile(  # named as the command is
    workflow: AnyWorkflow | Plan,
    engine: str,
    *,
    target: Target | None = None,
    format: str | None = None,
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
        Format of the files, one of the engine's; None for its first.

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
    with _no_collection():
        if not isinstance(workflow, Plan):
            workflow = plan(workflow, engine=engine, target=target)
        if workflow.refusal is not None:
            raise workflow.refusal
        target = workflow.target if target is None else target
        backend = workflow.backend
        if backend is None or (backend.name, target) != (engine, workflow.target):
            backend = get_backend(engine)
            check_engine(workflow.workflow, backend, target, retell=workflow.origins.retell)
        artifact = backend.compile(workflow.workflow, target, format=choose_format(backend, format))
        ignored = ignored_notes(engine, ignored_features(workflow.workflow, backend, target))
        return replace(artifact, notes=(*ignored, *artifact.notes)) if ignored else artifact


def judge(
    workflow: AnyWorkflow,
    engine: str,
    *,
    target: Target | None = None,
    passes: Iterable[Pass | str] | None = None,
    cluster: Cluster | Machines | None = None,
) -> tuple[Diagnostic, ...]:
    """Compile a workflow, and let the engine itself say what it refuses.

    Parameters
    ----------
    workflow
        The workflow, of a program or as IR.
    engine
        Name of the engine, which must be installed on this machine.
    target
        Settings of the engine.
    passes
        The passes in order, or their texts, see `plan`; None for the default ones.
    cluster
        The machines that steps can run on, see `plan`.

    Raises
    ------
    EngineOptionError
        The engine cannot be asked.
    ConfigurationError
        The engine is not installed.
    EngineError
        It gives no answer.

    Notes
    -----
    Raises what `compile` raises as well.
    """
    backend = get_backend(engine)
    if not isinstance(backend, Judge):
        raise EngineOptionError(f"{engine} cannot be asked whether it takes its files")
    planned = plan(workflow, engine=engine, target=target, passes=passes, cluster=cluster)
    return tuple(backend.judge(compile(planned, engine)))


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keep Python from searching for circles meanwhile: a manifest only grows, and has none."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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

    return render(as_ir(workflow)[0], as_)
