"""Instances of steps and their outputs, with the defaults of those that are missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from couler.errors import EvaluationError, MissingOutputError
from couler.ir.parameters import check_entered
from couler.ir.semantics.values import (
    Gathered,
    Outputs,
    Single,
    Stored,
    View,
    as_type,
    bind_input,
    from_json,
    resolve,
)
from couler.ir.semantics.wire import MAX_VALUE_BYTES, read_content
from couler.ir.values import MAX_LIST_BYTES, ROUNDS, RoundRef, StepRef, Value, check_size
from couler.ir.walk import Scope, StepPath, output_references, references
from couler.ir.workflow import STDOUT, Container, Group, Http, Output, Script, Step, Workflow

KEEP_BYTES = MAX_VALUE_BYTES + 1
"""How much to read of what an output is made from: the largest value and a final newline."""


def required(outputs: Iterable[Output]) -> list[str]:
    """Return the names of the outputs without which a step has not succeeded."""
    return [output.name for output in outputs if not output.optional]


def outputs_of(step: Step, *, is_read: bool) -> tuple[Output, ...]:
    """Return the outputs that a step gives."""
    declared = step.outputs
    has_stdout = isinstance(step.action, Container | Script | Http)
    if has_stdout and is_read and all(output.name != STDOUT for output in declared):
        return (*declared, Output(name=STDOUT))
    return declared


def read_results(steps: Iterable[Step], others: Iterable[Value | None]) -> frozenset[str]:
    """Return the names of the steps whose `result` is read."""
    read = [reference for step in steps for reference in references(step)]
    read += [reference for value in others for reference in output_references(value)]
    carried = [step.name for step in steps if any(_is_result(one) for _, one in ROUNDS.visit(step))]
    return frozenset((*carried, *(one.step for one in read if _is_result(one))))


def read_outside(workflow: Workflow) -> frozenset[str]:
    """Return the names of the workflow's own steps whose standard output something reads."""
    return read_results(workflow.steps, _outer_values(workflow))


def read_steps(values: Iterable[Value | None]) -> frozenset[str]:
    """Return the names of the steps of which values read anything."""
    return frozenset(reference.step for value in values for reference in output_references(value))


def shown_steps(workflow: Workflow) -> frozenset[str]:
    """Return the names of the workflow's own steps that its outputs or exit handlers read."""
    return read_steps(_outer_values(workflow))


def read_in_scope(scope: Scope, workflow: Workflow) -> frozenset[str]:
    """Return the names of the steps of a scope whose standard output something reads."""
    if scope.owner is not None:
        return read_results(scope.steps, (output.value for output in scope.owner.outputs))
    return read_results(scope.steps, ()) if scope.handler is not None else read_outside(workflow)


def _outer_values(workflow: Workflow) -> Iterator[Value | None]:
    """Yield what reads the workflow's steps from outside their scope."""
    for output in workflow.outputs:
        yield output.value
    for handler in workflow.exit_handlers:
        for step in handler.steps:
            yield from references(step)


def default_of(output: Output) -> Single:
    """Return the declared default of an output as it travels."""
    return as_type(from_json(output.default), output.type)


def scope_outputs(outputs: Iterable[Output], view: View) -> Outputs:
    """Return the outputs of a group or of the workflow from what its steps gave."""
    return {output.name: _scope_output(output, view) for output in outputs}


def read_entered(outputs: Iterable[Output], entered: Mapping[str, str]) -> Outputs:
    """Return the outputs of a step that waited, from what a person entered."""
    outputs = tuple(outputs)
    check_entered(outputs, entered)
    return {
        output.name: Single(entered[output.name], output.type)
        if output.name in entered
        else default_of(output)
        for output in outputs
    }


def read_output(content: bytes, output: Output, *, what: str, cut_newline: bool = False) -> Single:
    """Return an output from the bytes that hold it."""
    if cut_newline:
        content = content.removesuffix(b"\n")
    return Single(read_content(content, f'the output "{output.name}": {what}'), output.type)


def _scope_output(output: Output, view: View) -> Single:
    if output.value is None:
        raise EvaluationError(f'the output "{output.name}" has no value')
    try:
        stored = resolve(output.value, view)
    except MissingOutputError:
        if output.default is None:
            raise
        return default_of(output)
    limit = MAX_LIST_BYTES if isinstance(stored, Gathered) else MAX_VALUE_BYTES
    value = as_type(stored, output.type)
    check_size(value.text, limit, f'the output "{output.name}"')
    return value


def _is_result(reference: StepRef | RoundRef) -> bool:
    return reference.output == STDOUT


RUNS = sys.maxsize
"""An ordinal later than all that earlier sessions have recorded."""


@dataclass(frozen=True, slots=True)
class Instance:
    """A step in a run, or one of its items or rounds."""

    step: Step
    path: StepPath
    outputs: tuple[Output, ...]

    @property
    def is_shown(self) -> bool:
        """Whether results show it; those that a pass made as a group are not shown."""
        step = self.step
        is_hidden = isinstance(step.action, Group) and step.action.transparent
        return not is_hidden or any(
            one is not None for one in (step.foreach, step.loop, step.retry)
        )

    @property
    def is_whole_list(self) -> bool:
        """Whether it is a foreach as a whole, not one of its items."""
        return self.step.foreach is not None and self.path[-1].item is None

    @property
    def is_whole(self) -> bool:
        """Whether it is a foreach or a loop as a whole, of which the items or rounds run."""
        is_whole_loop = self.step.loop is not None and self.path[-1].round is None
        return self.is_whole_list or is_whole_loop

    def at(self, path: StepPath) -> Instance:
        """Return an item or a round of this instance."""
        return replace(self, path=path)


def bind_inputs(step: Step, view: View) -> dict[str, Stored]:
    """Return the values of a step's inputs; that of an optional one need not be there."""
    found: dict[str, Stored] = {}
    for given in step.inputs:
        if given.at is not None:
            continue
        try:
            stored = bind_input(given, view)
        except MissingOutputError:
            if not given.optional:
                raise
        else:
            if not (given.optional and stored == Single("null", given.type)):
                found[given.name] = stored
    return found


def readable_defaults(instance: Instance) -> Outputs:
    """Return what can be read of an instance that gave nothing."""
    outputs = () if instance.is_whole_list else instance.outputs
    return {output.name: default_of(output) for output in outputs if output.default is not None}
