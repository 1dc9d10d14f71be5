"""Passes for tests: they change names, order and levels, and take options of all types."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from couler.ir.base import FrozenDict
from couler.ir.values import ParamRef, StepRef
from couler.ir.workflow import Group, Input, Step, Workflow
from couler.optimizers.base import PassContext

ENTRY_POINTS = {
    "tag-steps": "TagSteps",
    "wrap-steps": "WrapSteps",
    "reverse-steps": "ReverseSteps",
    "lose-a-step": "LoseAStep",
    "take-all-options": "TakeAllOptions",
    "make-a-daemon": "MakeADaemon",
    "leave-out-last": "LeaveOutLast",
    "rename-steps": "RenameSteps",
}


def install(folder: Path) -> None:
    """Write a distribution that brings these passes into a folder, which goes on the path."""
    information = folder / "pass_samples-1.0.dist-info"
    information.mkdir(parents=True)
    (information / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pass-samples\nVersion: 1.0\n"
    )
    lines = [f"{name} = couler_pass_samples:{what}" for name, what in ENTRY_POINTS.items()]
    (information / "entry_points.txt").write_text("[couler.passes]\n" + "\n".join(lines) + "\n")
    (folder / "couler_pass_samples.py").write_text(Path(__file__).read_text())


@dataclass(frozen=True)
class TagSteps:
    """Put a label on every step of the outermost scope. Nothing else changes.

    Attributes
    ----------
    key
        Name of the label.
    values
        Its value, or several values that are joined.
    """

    name: t.ClassVar[str] = "tag-steps"
    key: str = "tag"
    values: tuple[str, ...] = ("yes",)

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        value = "-".join(self.values)
        steps = tuple(
            step.model_copy(update={"labels": FrozenDict({**step.labels, self.key: value})})
            for step in workflow.steps
        )
        context.explain(f"{len(steps)} steps are {self.key}.")
        return workflow.model_copy(update={"steps": steps})


@dataclass(frozen=True)
class WrapSteps:
    """Put all steps into one group."""

    name: t.ClassVar[str] = "wrap-steps"
    into: str = "part"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        names = [one.name for one in workflow.steps]
        context.explain(f"{len(names)} steps make one group.")
        context.derive(self.into, names)
        whole = Step(
            name=self.into,
            action=Group(steps=workflow.steps, transparent=True),
            inputs=tuple(
                Input(name=one.name, type=one.type, value=ParamRef(name=one.name))
                for one in workflow.parameters
            ),
            outputs=workflow.outputs,
            origin=self.name,
        )
        outputs = tuple(
            one.model_copy(update={"value": StepRef(step=self.into, output=one.name)})
            for one in workflow.outputs
        )
        return workflow.model_copy(update={"steps": (whole,), "outputs": outputs})


@dataclass(frozen=True)
class ReverseSteps:
    """Write the steps in the opposite order."""

    name: t.ClassVar[str] = "reverse-steps"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        return workflow.model_copy(update={"steps": workflow.steps[::-1]})


@dataclass(frozen=True)
class LoseAStep:
    """Break a workflow."""

    name: t.ClassVar[str] = "lose-a-step"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        return workflow.model_copy(update={"steps": workflow.steps[1:]})


@dataclass(frozen=True)
class MakeADaemon:
    """Rename the last step, and let it be what not every engine has."""

    name: t.ClassVar[str] = "make-a-daemon"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        *others, last = workflow.steps
        made = last.model_copy(update={"name": "made", "daemon": True, "origin": self.name})
        context.derive("made", [last.name])
        return workflow.model_copy(update={"steps": (*others, made), "outputs": ()})


@dataclass(frozen=True)
class LeaveOutLast:
    """Leave the last step out."""

    name: t.ClassVar[str] = "leave-out-last"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        *others, last = workflow.steps
        context.explain("Nobody looks at it.", step=last.name)
        return workflow.model_copy(update={"steps": tuple(others)})


@dataclass(frozen=True)
class RenameSteps:
    """Put a text before the names of steps that nothing waits for or reads."""

    name: t.ClassVar[str] = "rename-steps"
    before: str = "my-"

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        for step in workflow.steps:
            context.derive(self.before + step.name, [step.name])
        steps = tuple(
            step.model_copy(update={"name": self.before + step.name}) for step in workflow.steps
        )
        return workflow.model_copy(update={"steps": steps})


@dataclass(frozen=True)
class TakeAllOptions:
    """Take options of each type."""

    name: t.ClassVar[str] = "take-all-options"
    count: int = 1
    share: float = 0.5
    is_loud: bool = False
    max_bytes: int | None = None
    method: t.Literal["dfs", "levels"] = "levels"
    label: str | None = None
    either: int | str = 0
    names: Sequence[str] = ()
    pair: tuple[int, float] = (1, 1.0)
    sizes_bytes: tuple[int, ...] = ()
    function: t.Callable[[], None] | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count must be at least 1")

    def run(self, workflow: Workflow, context: PassContext) -> Workflow:
        return workflow
