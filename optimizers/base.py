"""What a pass is: a value whose fields are its options, and a pure function of the workflow."""

from __future__ import annotations

import dataclasses
import typing as t
from collections.abc import Mapping, Sequence

from couler.ir.workflow import Workflow


class PassContext:
    """What a pass is told, and where it says what it did.

    Parameters
    ----------
    engine
        Name of the engine that the plan is for; None for any.
    profile
        Name of the engine's profile; None for its first.

    Attributes
    ----------
    reason
        The sentence that the pass gave, or an empty text.
    derived
        For each step that a pass made of others, the paths of those.

    Examples
    --------
    >>> context = PassContext(engine="argo")
    >>> context.explain("2 steps of 3 s in sum share a pod.")
    >>> context.derive("load-and-clean", ["load", "clean"])
    >>> context.reason, dict(context.derived)
    ('2 steps of 3 s in sum share a pod.', {'load-and-clean': ('load', 'clean')})
    """

    def __init__(self, *, engine: str | None = None, profile: str | None = None) -> None:
        self.engine = engine
        self.profile = profile
        self.reason = ""
        self.derived: Mapping[str, tuple[str, ...]] = {}

    def explain(self, reason: str) -> None:
        """Say in one sentence why the pass did what it did; a later sentence is added."""
        self.reason = f"{self.reason} {reason}".strip()

    def derive(self, step: str, sources: Sequence[str]) -> None:
        """Say of which steps a step of the result was made.

        Parameters
        ----------
        step
            Path in the workflow that the pass returns.
        sources
            Paths in the workflow that the pass was given.
        """
        self.derived = {**self.derived, step: tuple(sources)}


@t.runtime_checkable
class Pass(t.Protocol):
    """A rewriting of workflows; a frozen dataclass whose fields are its options.

    Its docstring states what must hold before, what holds after, what is preserved, and the
    complexity.
    """

    name: t.ClassVar[str]
    """Kebab-case, as in the entry point and in `couler plan --pass NAME`."""

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        """Return the rewritten workflow: the same for the same input, byte for byte.

        The workflow verifies before and after; its outcomes are the same.
        """
        ...


def options_of(pass_: Pass) -> dict[str, t.Any]:
    """Return the options of a pass by name, as they are set."""
    value: t.Any = pass_
    fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
    return {field.name: getattr(value, field.name) for field in fields}
