"""What the steps of a run had to do when they ran: their keys, read off what is recorded."""

from __future__ import annotations

import typing as t
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from couler.ir import workflow as ir
from couler.ir.cachekey import cache_key, step_digests, text_digest
from couler.ir.graph import Graph
from couler.ir.policies import Foreach
from couler.ir.semantics.keys import key_texts
from couler.ir.semantics.outputs import (
    Instance,
    outputs_of,
    read_outside,
    read_results,
    readable_defaults,
    required,
)
from couler.ir.semantics.replay import (
    Unknown,
    UnknownValueError,
    bind_known,
    gather_known,
    known_outputs,
    unknown_outputs,
    with_tokens,
)
from couler.ir.semantics.values import (
    VALUE_ERRORS,
    Outputs,
    Single,
    Stored,
    View,
    as_type,
    foreach_items,
    from_json,
    read_outputs,
)
from couler.ir.storage import Volume
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath
from couler.state.records import StepRecord

WELL: t.Final = ("succeeded", "cached")


class Task(t.NamedTuple):
    """What an instance had to do when it ran."""

    key: str | None
    """Equal for the same work; None if it cannot be told."""
    outputs: frozenset[str]
    """Names of what it gave."""


def parameter_values(
    declared: Iterable[ir.Parameter], given: Mapping[str, str]
) -> dict[str, Stored]:
    """Return the values of a run's parameters."""
    values: dict[str, Stored] = {}
    for one in declared:
        if one.name in given:
            values[one.name] = Single(given[one.name], one.type)
        elif one.config is not None:
            values[one.name] = Unknown(f"entry {one.config.model_dump_json()}", one.type)
        else:
            values[one.name] = as_type(from_json(one.default), one.type)
    return values


class Keys:
    """The keys of the instances of a workflow's steps."""

    def __init__(self, volumes: Iterable[Volume]) -> None:
        self._digest = step_digests(volumes)

    def of(self, step: ir.Step, view: View) -> str:
        """Return the key of one instance, in hexadecimal."""
        digest = self._digest(step)
        try:
            return cache_key(digest, key_texts(step, view))
        except UnknownValueError as error:
            if not error.token:
                raise
            unknown = error
        try:
            return text_digest(f"unknown/{cache_key(digest, key_texts(step, with_tokens(view)))}")
        except VALUE_ERRORS:  # a part of what is unknown
            raise unknown from None


def recorded_outputs(instance: Instance, record: StepRecord, names: Collection[str]) -> Outputs:
    """Return the outputs of an instance that went well."""
    outputs = dict(read_outputs(record.outputs))
    types = {output.name: output.type for output in instance.outputs}
    for name in required(instance.outputs):
        if name not in outputs and name in names:
            outputs[name] = Unknown(f"output {name} of {record.path}", types[name])
    return outputs


def past_tasks(
    workflow: ir.Workflow, view: View, records: Mapping[str, StepRecord]
) -> dict[str, Task]:
    """Return what instances that went well had to do, by the texts of their paths."""
    reader = _Reader(Keys(workflow.volumes), records)
    steps = reader.read_scope(workflow.steps, StepPath(), view, read_outside(workflow))
    after = replace(view, run=replace(view.run, status="succeeded"), steps=steps)
    for handler in workflow.exit_handlers:
        path = StepPath((PathPart(HANDLER_PREFIX + handler.name),))
        reader.read_scope(handler.steps, path, after, read_results(handler.steps, ()))
    return reader.tasks


@dataclass(slots=True)
class _Reader:
    """Walks a run that has ended; what a step gave is None where it did not go well."""

    keys: Keys
    records: Mapping[str, StepRecord]
    tasks: dict[str, Task] = field(default_factory=dict)

    def read_scope(
        self, steps: tuple[ir.Step, ...], path: StepPath, view: View, read: Collection[str]
    ) -> dict[str, Outputs]:
        """Return what the steps of a scope gave."""
        by_name = {step.name: step for step in steps}
        readable: dict[str, Outputs] = dict(view.steps)
        inside = replace(view, steps=readable)
        for name in Graph.of(steps).topological_order:
            step = by_name[name]
            instance = Instance(step, path / name, outputs_of(step, is_read=name in read))
            if not instance.is_shown:
                instance = instance.at(path)
            given = self._read_step(instance, inside)
            readable[name] = readable_defaults(instance) if given is None else given
        return readable

    def _read_step(self, instance: Instance, view: View) -> Outputs | None:
        if instance.is_shown and str(instance.path) not in self.records:
            return None
        foreach = instance.step.foreach
        try:
            if foreach is None:
                return self._read_item(instance, view)
            return self._read_foreach(instance, foreach, view)
        except VALUE_ERRORS:
            return None
        except UnknownValueError:
            return unknown_outputs(instance.outputs)

    def _read_foreach(self, instance: Instance, foreach: Foreach, view: View) -> Outputs | None:
        if self._status(instance) in ("skipped", "omitted"):
            return None
        given = []
        for index, item in enumerate(foreach_items(foreach, view)):
            at = instance.at(instance.path.at_item(index))
            one = self._read_item(at, replace(view, items=item))
            given.append({} if one is None else one)
        return gather_known(instance.outputs, given)

    def _read_item(self, instance: Instance, view: View) -> Outputs | None:
        if instance.step.loop is None:
            return self._read_once(instance, view)
        last: Outputs | None = None
        for number in count():
            at = instance.at(instance.path.at_round(number))
            if str(at.path) not in self.records:
                break
            last = self._read_once(at, replace(view, round=last))
        return last if self._status(instance) in WELL else None

    def _read_once(self, instance: Instance, view: View) -> Outputs | None:
        action = instance.step.action
        if isinstance(action, ir.Group):
            return self._read_group(instance, action, view)
        record = self.records.get(str(instance.path))
        if record is None or record.status not in WELL:
            return None
        names = frozenset(output.name for output in instance.outputs)
        try:
            key = self.keys.of(instance.step, view)
        except (*VALUE_ERRORS, UnknownValueError):
            key = None
        self.tasks[record.path] = Task(key, names)
        return recorded_outputs(instance, record, names)

    def _read_group(self, instance: Instance, group: ir.Group, view: View) -> Outputs | None:
        step = instance.step
        inside = View(view.run, parameters=bind_known(step.inputs, view))
        read = read_results(group.steps, (output.value for output in step.outputs))
        steps = self.read_scope(group.steps, instance.path, inside, read)
        if instance.is_shown and self._status(instance) not in WELL:
            return None
        return known_outputs(step.outputs, replace(inside, steps=steps))

    def _status(self, instance: Instance) -> str | None:
        record = self.records.get(str(instance.path))
        return None if record is None else record.status
