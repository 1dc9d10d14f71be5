"""A workflow as a form that a model fills in: data alone, of which our own code makes the IR."""

from __future__ import annotations

import typing as t
from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from couler.ir import values
from couler.ir.policies import AnyOf, Dependency, Foreach, Gpu, Resources, Retry
from couler.ir.values import literal_type
from couler.ir.workflow import (
    Container,
    ExitHandler,
    Input,
    Output,
    Parameter,
    Schedule,
    Step,
    Workflow,
)

Scalar: t.TypeAlias = str | int | float | bool


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Constant(_Form):
    """A text or number that is known now."""

    value: Scalar


class FromParameter(_Form):
    """The value of a parameter of the workflow."""

    parameter: str


class FromStep(_Form):
    """An output of a step; `result` is what it printed."""

    step: str
    output: str = Field(description='"result", or the name of an output file')


class FromItem(_Form):
    """The item of the list that the step runs for."""

    item: t.Literal[True]


class FromRun(_Form):
    """What a run knows of itself; its status in handlers alone."""

    run: t.Literal["id", "logical_date", "status"]


SketchValue: t.TypeAlias = Constant | FromParameter | FromStep | FromItem | FromRun


class SketchParameter(_Form):
    """A parameter of the workflow."""

    name: str
    default: Scalar


class SketchCondition(_Form):
    """When a step runs; it is skipped otherwise."""

    left: SketchValue
    operator: t.Literal["==", "!=", "<", "<=", ">", ">="]
    right: SketchValue


class FileIn(_Form):
    """A file of an earlier step, and where it is put: a relative path."""

    path: str
    step: str
    output: str


class FileOut(_Form):
    """A file that the step writes at a relative path, and by which name others read it."""

    name: str
    path: str


class SketchStep(_Form):
    """A container."""

    name: str = Field(description="In kebab-case, unique")
    image: str
    command: tuple[str, ...] = Field(description='Such as ["python", "-c", "<program>"]')
    args: tuple[SketchValue, ...] = Field(description="Given after the command")
    result_type: t.Literal["str", "int", "float", "bool", "list", "dict"] = Field(
        description="Of what it prints, which others read as its output result"
    )
    files_in: tuple[FileIn, ...]
    files_out: tuple[FileOut, ...]
    after: tuple[str, ...] = Field(description="Steps that it waits for and does not read from")
    after_failure_of: tuple[str, ...] = Field(description="Runs only if one of these fails")
    when: SketchCondition | None
    for_each: FromStep | tuple[Scalar, ...] | None = Field(
        description="Runs once for each item of a list, or of a list that a step printed"
    )
    max_parallel: int | None = Field(description="Of these, how many at the same time")
    retries: int = Field(ge=0)
    timeout_s: float | None
    cpu: str | None
    memory: str | None = Field(description='Such as "2Gi"')
    gpus: int = Field(ge=0)


class SketchHandler(_Form):
    """A step that runs when the run has ended."""

    status: t.Literal["success", "failure", "any"]
    step: SketchStep


class SketchOutput(_Form):
    """An output of the workflow."""

    name: str
    value: SketchValue


class Sketch(_Form):
    """A workflow."""

    reasoning: str = Field(description="Think step by step: which steps, in which order?")
    name: str = Field(description="In kebab-case")
    parameters: tuple[SketchParameter, ...]
    schedule: str = Field(description="A line of cron; empty for none")
    steps: tuple[SketchStep, ...] = Field(min_length=1)
    handlers: tuple[SketchHandler, ...]
    outputs: tuple[SketchOutput, ...]


def workflow_of(sketch: Sketch) -> Workflow:
    """Return the workflow that a form describes; verification tells what is wrong with it."""
    return Workflow(
        name=sketch.name,
        parameters=tuple(
            Parameter(name=one.name, type=literal_type(one.default), default=one.default)
            for one in sketch.parameters
        ),
        steps=_steps(sketch.steps),
        exit_handlers=tuple(
            ExitHandler(name=one.step.name, on=one.status, steps=_steps([one.step]))
            for one in sketch.handlers
        ),
        outputs=tuple(Output(name=one.name, value=_value(one.value)) for one in sketch.outputs),
        schedule=Schedule(cron=(sketch.schedule,)) if sketch.schedule else None,
    )


def _steps(steps: Sequence[SketchStep]) -> tuple[Step, ...]:
    return tuple(map(_step, steps))


def _step(step: SketchStep) -> Step:
    outputs = [Output(name=one.name, type="file", path=one.path) for one in step.files_out]
    if step.result_type != "str":
        outputs.insert(0, Output(type=step.result_type))
    files = tuple(
        Input(
            name=f"file_{number}",
            type="file",
            path=one.path,
            value=values.StepRef(step=one.step, output=one.output),
        )
        for number, one in enumerate(step.files_in)
    )
    failed = tuple(Dependency(step=name, on="failure") for name in step.after_failure_of)
    failures = (AnyOf(options=failed),) if len(failed) > 1 else failed
    return Step(
        name=step.name,
        action=Container(image=step.image, command=step.command, args=tuple(map(_text, step.args))),
        depends_on=(*step.after, *failures),
        when=None if step.when is None else _condition(step.when),
        foreach=_foreach(step),
        retry=Retry(limit=step.retries) if step.retries else None,
        timeout_s=step.timeout_s,
        inputs=files,
        outputs=tuple(outputs),
        resources=_resources(step),
        working_dir="." if step.files_in or step.files_out else None,
    )


def _foreach(step: SketchStep) -> Foreach | None:
    if step.for_each is None:
        return None
    if isinstance(step.for_each, FromStep):
        over: values.Value = _value(step.for_each)
    else:
        over = values.Literal(value=list(step.for_each))
    return Foreach(over={"item": over}, max_parallel=step.max_parallel)


def _resources(step: SketchStep) -> Resources | None:
    if not (step.cpu or step.memory or step.gpus):
        return None
    gpu = Gpu(count=step.gpus) if step.gpus else None
    return Resources(cpu=step.cpu, memory=step.memory, gpu=gpu)


def _condition(condition: SketchCondition) -> values.Condition:
    return values.Compare(
        left=_value(condition.left), op=condition.operator, right=_value(condition.right)
    )


def _text(value: SketchValue) -> values.Text:
    """Return a value as an argument of a command, where texts stand as they are."""
    if isinstance(value, Constant) and isinstance(value.value, str):
        return value.value
    return _value(value)


def _value(value: SketchValue) -> values.Value:
    match value:
        case Constant():
            return values.Literal(value=value.value)
        case FromParameter():
            return values.ParamRef(name=value.parameter)
        case FromStep():
            return values.StepRef(step=value.step, output=value.output)
        case FromItem():
            return values.ItemRef()
        case FromRun():
            return values.RunRef(field=value.run)
        case _:
            t.assert_never(value)
