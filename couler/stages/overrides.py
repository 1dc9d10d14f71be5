"""The escape hatches of a workflow: what it gives engines to merge in last, and where."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from couler.ir.diagnostics import Diagnostic, did_you_mean
from couler.ir.policies import SourceRef
from couler.ir.walk import scopes
from couler.ir.workflow import Step, Workflow

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
