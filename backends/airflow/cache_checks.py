"""What the caches of a workflow need that the target, or Airflow, has not."""

from __future__ import annotations

from collections.abc import Iterator

from couler.backends.airflow.options import Options
from couler.ir.diagnostics import Diagnostic
from couler.ir.walk import steps_by_path
from couler.ir.workflow import Container, Script, Step, Workflow

_NO_PLACE = "CLR354"
_NO_CACHE = "CLR382"


def check_caches(workflow: Workflow, options: Options) -> Iterator[Diagnostic]:
    """Yield a diagnostic for each cache that could not be kept."""
    for path, step in steps_by_path(workflow):
        if step.cache is None:
            continue
        problem = _problem(step)
        if problem is not None:
            yield Diagnostic(_NO_CACHE, f'airflow: step "{path}" {problem}', path, step.source)
            continue
        missing = _missing(options)
        if missing is not None:
            yield Diagnostic(
                _NO_PLACE,
                f'airflow: step "{path}" has a cache, whose entries lie where files are kept, but '
                f"the target {missing}, or leave the cache out",
                path,
                step.source,
                of_target=True,
            )


def _problem(step: Step) -> str | None:
    """Return why Airflow cannot take the outputs of a step from an entry."""
    if not isinstance(step.action, Container | Script):
        return (
            "has a cache, but runs no process of its own in a pod, whose wrapper would look for an "
            "entry. Leave the cache out"
        )
    if step.init_containers:
        return (
            f'has a cache, but its pod runs the container "{step.init_containers[0].name}" before '
            "anything looks for an entry. Leave the cache out, or do in the process what that "
            "container does"
        )
    elsewhere = [one.name for one in step.outputs if one.at is not None]
    if elsewhere:
        return (
            f'has a cache, and puts its output "{elsewhere[0]}" at a place besides, which an entry '
            "does not. Leave the cache out, or put the file there by a step behind this one"
        )
    return None


def _missing(options: Options) -> str | None:
    """Return what keeps entries from being written, and what to give."""
    if options.files_claim is not None:
        return None
    if options.files_store is None:
        return (
            "has no place for them. Give the option files_claim=NAME, a persistent volume claim "
            "that pods of all nodes can write, or a storage and io_image=IMAGE"
        )
    if options.io_image is None:
        return "has no helper that reaches it. Give the option io_image=IMAGE, an image with Couler"
    return None
