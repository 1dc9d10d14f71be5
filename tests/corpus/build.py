"""Short builders for the workflows of the corpus, and what they are expected to do."""

from __future__ import annotations

import textwrap
import typing as t
from collections.abc import Mapping
from dataclasses import dataclass, field

from couler.ir.artifacts import ListFiles, S3Location
from couler.ir.base import Node
from couler.ir.policies import AnyOf, Dependency, Foreach, Loop
from couler.ir.values import (
    And,
    Compare,
    Condition,
    Field,
    FirstOf,
    ItemRef,
    Literal,
    Not,
    Operator,
    Or,
    OrElse,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
    ValueType,
)
from couler.ir.workflow import (
    Container,
    Group,
    Input,
    Output,
    Parameter,
    Script,
    Step,
    Workflow,
)

SHELL_IMAGE = "busybox:1.36"
PYTHON_IMAGE = "python:3.12-slim"

SHARED = "<shared>"
"""As the value of a parameter: a new folder that outlives attempts. The engine's test gives it."""

Status: t.TypeAlias = t.Literal["succeeded", "failed"]


@dataclass(frozen=True)
class Expected:
    """The outcome of a run.

    Attributes
    ----------
    status
        Of the run.
    succeeded, failed, skipped, omitted
        Paths that end so, with blanks between them; together all paths of the run.
    outputs
        By path and name, those that matter.
    run_outputs
        All outputs of the workflow.
    """

    status: Status
    succeeded: str = ""
    failed: str = ""
    skipped: str = ""
    omitted: str = ""
    outputs: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    run_outputs: Mapping[str, object] = field(default_factory=dict)

    @property
    def steps(self) -> dict[str, str]:
        """The state at every path."""
        states = {
            "succeeded": self.succeeded,
            "failed": self.failed,
            "skipped": self.skipped,
            "omitted": self.omitted,
        }
        return {path: state for state, paths in states.items() for path in paths.split()}


# steps --------------------------------------------------------------------------------------------


def sh(
    name: str, script: str, *args: Text, result: ValueType | None = "str", **fields: t.Any
) -> Step:
    """Return a container that runs a line of shell; `args` are its `$1`, `$2`, ..."""
    command = ("sh", "-c", script, *(("sh", *args) if args else ()))
    action = Container(image=SHELL_IMAGE, command=command[:2], args=command[2:])
    return _step(name, action, result, fields)


def words(name: str, *command: Text, result: ValueType | None = "str", **fields: t.Any) -> Step:
    """Return a container that runs a command of Python's image."""
    return _step(name, Container(image=PYTHON_IMAGE, command=command), result, fields)


def py(name: str, source: str, result: ValueType | None = "str", **fields: t.Any) -> Step:
    """Return a script of Python."""
    action = Script(image=PYTHON_IMAGE, source=textwrap.dedent(source).strip() + "\n")
    return _step(name, action, result, fields)


def listing(name: str, key: Text, pattern: str | None = None, **fields: t.Any) -> Step:
    """Return a list of the files below a key in the repository."""
    return _step(name, ListFiles(at=S3Location(key=key), pattern=pattern), "list", fields)


def group(name: str, *steps: Step, **fields: t.Any) -> Step:
    """Return a nested graph."""
    return _step(name, Group(steps=steps), None, fields)


def flow(name: str, *steps: Step, **fields: t.Any) -> Workflow:
    """Return a workflow; lists of its fields may be lists."""
    return Workflow(name=name, steps=steps, **_as_tuples(fields))


def _step(name: str, action: t.Any, result: ValueType | None, fields: dict[str, t.Any]) -> Step:
    fields = _as_tuples(fields)
    if result is not None:
        fields["outputs"] = (Output(type=result), *fields.get("outputs", ()))
    foreach = fields.pop("foreach", None)
    if foreach is not None:
        over = foreach if isinstance(foreach, dict) else {"item": foreach}
        fields["foreach"] = Foreach(over={key: value(items) for key, items in over.items()})
    return Step(name=name, action=action, **fields)


def _as_tuples(fields: Mapping[str, t.Any]) -> dict[str, t.Any]:
    return {
        key: tuple(given) if isinstance(given, list) else given for key, given in fields.items()
    }


def given(
    name: str,
    source: object,
    type: ValueType = "str",
    path: str | None = None,
    many: bool = False,
) -> Input:
    """Return an input."""
    return Input(name=name, value=value(source), type=type, path=path, many=many)


def out(
    name: str,
    type: ValueType = "str",
    path: str | None = None,
    source: object = None,
    default: object = None,
) -> Output:
    """Return an output: of a process by `path`, of a group or workflow by `source`."""
    given = None if source is None else value(source)
    return Output(name=name, type=type, path=path, value=given, default=default)


def parameter(name: str, default: object = None, type: ValueType = "str") -> Parameter:
    """Return a parameter of a workflow; without a default, a required one."""
    return Parameter(name=name, type=type, default=default, required=default is None)


# order and conditions -----------------------------------------------------------------------------


def on_failure(step: str) -> Dependency:
    """Ask for a step's failure."""
    return Dependency(step=step, on="failure")


def on_completion(step: str) -> Dependency:
    """Ask for a step's end, whatever it is."""
    return Dependency(step=step, on="completion")


def any_of(*options: str | Dependency) -> AnyOf:
    """Ask for at least one of several ends."""
    return AnyOf(options=options)


def compare(left: object, op: Operator, right: object) -> Compare:
    """Return a comparison."""
    return Compare(left=value(left), op=op, right=value(right))


def both(*items: Condition) -> And:
    """Return a condition that holds if all do."""
    return And(items=items)


def either(*items: Condition) -> Or:
    """Return a condition that holds if one does."""
    return Or(items=items)


def negate(item: Condition) -> Not:
    """Return the opposite of a condition."""
    return Not(item=item)


def while_(condition: Condition, max_iterations: int = 20) -> Loop:
    """Return a loop."""
    return Loop(condition=condition, max_iterations=max_iterations)


# values -------------------------------------------------------------------------------------------


def value(source: object) -> Value:
    """Return a value of the IR as it is, and anything else as a literal."""
    return t.cast(Value, source) if isinstance(source, Node) else Literal(value=source)


def param(name: str) -> ParamRef:
    """Read a parameter of the workflow, or an input of the group around."""
    return ParamRef(name=name)


def ref(step: str, output: str = "result") -> StepRef:
    """Read an output."""
    return StepRef(step=step, output=output)


def item(name: str = "item") -> ItemRef:
    """Read the item of the foreach."""
    return ItemRef(name=name)


def last(output: str = "result", initial: object = None) -> RoundRef:
    """Read the previous round of the loop."""
    return RoundRef(output=output, initial=None if initial is None else value(initial))


def run(field: t.Literal["id", "logical_date", "status"]) -> RunRef:
    """Read a fact of the run."""
    return RunRef(field=field)


def part(of: object, *path: str | int) -> Field:
    """Read a part of a JSON value."""
    return Field(of=value(of), path=path)


def or_else(source: object, default: object) -> OrElse:
    """Read a value with a default."""
    return OrElse(value=value(source), default=value(default))


def first_of(*options: object) -> FirstOf:
    """Read the first value that is there."""
    return FirstOf(options=tuple(map(value, options)))


def rng(
    start: object = 0, *, count: object = None, end: object = None, format: str | None = None
) -> Range:
    """Count from a number: so many, or up or down to another."""
    return Range(
        start=value(start),
        count=None if count is None else value(count),
        end=None if end is None else value(end),
        format=format,
    )


def text(*parts: object) -> Template:
    """Join texts and values."""
    return Template(parts=tuple(one if isinstance(one, str) else value(one) for one in parts))
