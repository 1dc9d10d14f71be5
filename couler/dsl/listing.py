"""Steps that list files outside of the workflow."""

from __future__ import annotations

import typing as t

from couler.dsl import objects
from couler.dsl.checks import OptionError, attempt
from couler.dsl.handles import StepHandle
from couler.dsl.located import location_of
from couler.dsl.locations import LocatedFile
from couler.dsl.options import step_fields
from couler.dsl.processes import begin_step
from couler.dsl.scope import Returns
from couler.dsl.types import STR, list_of
from couler.ir.artifacts import ListFiles, S3Location
from couler.ir.workflow import STDOUT, Output

_KEYS = Returns((Output(name=STDOUT, type="list"),), {STDOUT: list_of(STR)}, main=STDOUT)
_UNKNOWN = ListFiles(at=S3Location(key="unknown"))
"""Stands for a list that was reported as wrong."""


def list_files(
    location: object,
    pattern: str | None = None,
    timeout: objects.Duration | None = None,
    retry: int | objects.Retry | None = None,
    step_name: str | None = None,
    *,
    name: str | None = None,
    **options: t.Any,
) -> StepHandle:
    """List the files below a location, without fetching them.

    Parameters
    ----------
    location
        Such as `couler.S3Artifact(bucket="data", key="in")`; texts may be values of the workflow.
    pattern
        Which files: their paths below the location. `*` stands for any text without `/`, `?` for
        one character, `[0-9]` for one of these, `**/` for any folders. None for all of them.
    timeout, retry
        As for `couler.run_container`.
    step_name, name
        Name of the step; by default that of the calling function, or `list-files`.
    options
        The other options of `StepOptions` that need no process, such as `labels`.

    Returns
    -------
    StepHandle
        The step; its value is the sorted list of their keys, from the root of the bucket, which
        `couler.map` takes.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("tables") as wf:
    ...     keys = couler.list_files(couler.S3Artifact(bucket="data", key="in"), "**/*.csv")
    ...     rows = couler.map(
    ...         lambda key: couler.run_container(
    ...             "busybox", ["wc", "-l", "table.csv"], step_name="count",
    ...             input=couler.S3Artifact("table.csv", bucket="data", key=key)),
    ...         keys)
    >>> [step.action.kind for step in wf.to_ir().steps]
    ['list_files', 'container']
    """
    options.update(timeout=timeout, retry=retry)
    scope, base, draft = begin_step("list-files", step_name, name)
    draft.give(_KEYS)

    def action() -> ListFiles:
        if not isinstance(location, LocatedFile):
            told = f"{location!r:.60} is no location, such as couler.S3Artifact"
            raise OptionError(told)
        if location.archive or location.optional or location.mode or location.removal:
            raise OptionError("files that are listed are not fetched; name only where they are")
        return ListFiles(at=location_of(scope, location), pattern=pattern)

    draft.action = attempt(scope.builder, "list_files", action, base) or _UNKNOWN
    draft.options = step_fields(scope.builder, options, base)
    return StepHandle(scope.add(draft, base))
