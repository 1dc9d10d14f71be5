"""Which steps can be taken from an earlier run without anybody missing what they do."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from couler.ir.policies import locks_of
from couler.ir.semantics.outputs import read_in_scope
from couler.ir.storage import ConfigVolume, EmptyVolume, SecretVolume
from couler.ir.values import ItemRef, ParamRef, RunRef, StepRef, Value, children, is_file, walk
from couler.ir.walk import Scope, ScopeKey, output_references, references, scopes
from couler.ir.workflow import Container, Group, Input, Output, Script, Step, Workflow

_OWN_VOLUMES = (ConfigVolume, EmptyVolume, SecretVolume)
"""Volumes in which a step leaves nothing for others."""

_Source: t.TypeAlias = RunRef | tuple[Scope, Step]

_Place: t.TypeAlias = tuple[ScopeKey, str]
"""A step: its scope and its name."""

_Found: t.TypeAlias = tuple[Scope, Step, Value]
"""A value, the step that it is of, and the scope in which it is read."""


class Memoizable:
    """Tells of the steps of a workflow why an earlier run cannot stand for them."""

    def __init__(
        self,
        workflow: Workflow,
        *,
        files_by_content: bool,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self._refused = {} if refused is None else refused
        self._by_content = files_by_content
        self._volumes = {volume.name: volume for volume in workflow.volumes}
        self._scopes: dict[ScopeKey, Scope] = {scope.key: scope for scope in scopes(workflow)}
        self._indexes = {key: _Index(scope, workflow) for key, scope in self._scopes.items()}
        self._unkept: set[_Place] | None = None
        """The steps that cannot be kept, once that was asked."""

    def steps(self) -> Iterator[tuple[Scope, Step]]:
        """Yield all steps that run something, outside of exit handlers and hooks."""
        for scope in self._scopes.values():
            for step in scope.steps:
                if scope.handler is None and not isinstance(step.action, Group):
                    yield scope, step

    def obstacle(self, scope: Scope, step: Step) -> str | None:
        """Return why an earlier run cannot stand for a step; None if it can."""
        return (
            self._own_obstacle(scope, step)
            or self._unsteady_input(scope, step)
            or self._refused.get(scope.path_of(step))
        )

    def relies_on(self, scope: Scope, step: Step) -> Iterator[str]:
        """Yield the paths of the steps that must be memoized, too, for a step to be found again."""
        for source in self._sources_of(scope, step):
            if not isinstance(source, RunRef):
                inside, producer = source
                if producer.cache is None:
                    yield inside.path_of(producer)

    def _effect(self, step: Step) -> str | None:
        """What a step does beside giving outputs."""
        if not isinstance(step.action, Container | Script):
            return f"a {step.action.kind} acts on others, or waits for them"
        if step.daemon:
            return "it is a daemon"
        if step.hooks or step.metrics:
            return "its hooks or metrics tell of each run"
        if locks_of(step):
            return "it takes a lock, so it changes what others use"
        shared = [
            mount.volume
            for mount in step.mounts
            if not isinstance(self._volumes.get(mount.volume), _OWN_VOLUMES)
        ]
        if shared:
            return f'it sees the volume "{shared[0]}", whose content no key has'
        outside = [one.name for one in step.outputs if one.at is not None]
        if outside:
            return f'it puts "{outside[0]}" at a place outside of the run'
        fetched = [given.name for given in step.inputs if given.at is not None]
        if fetched and not self._by_content:
            return f'it fetches "{fetched[0]}" from outside, whose content no key has'
        return None

    def _unread(self, scope: Scope, step: Step) -> str | None:
        """Whether nothing reads what a step gives, or reads it in a way that needs this run."""
        index = self._indexes[scope.key]
        if step.name not in index.read:
            return "nothing reads what it gives"
        if self._by_content or step.foreach is None or step.name not in index.folder_reader:
            return None
        reader = index.folder_reader[step.name]
        return f"{reader} reads the files of all its items as one folder"

    def _unsteady_input(self, scope: Scope, step: Step) -> str | None:
        for source in self._sources_of(scope, step):
            if isinstance(source, RunRef):
                return "it reads a fact of the run, which is another each time"
            inside, producer = source
            if not self._can_be_kept(inside, producer):
                return (
                    f"it reads a file of {producer.name}, which cannot be memoized and so has "
                    "another place in each run"
                )
        return None

    def _can_be_kept(self, scope: Scope, producer: Step) -> bool:
        if self._unkept is None:
            self._unkept = self._find_unkept()
        return (scope.key, producer.name) not in self._unkept

    def _find_unkept(self) -> set[_Place]:
        """Return the steps without a cache of which no later run finds an entry."""
        unkept: set[_Place] = set()
        readers: defaultdict[_Place, list[_Place]] = defaultdict(list)
        for scope in self._scopes.values():
            for step in scope.steps:
                if step.cache is not None:
                    continue
                place = (scope.key, step.name)
                if self._refused.get(scope.path_of(step)) or self._own_obstacle(scope, step):
                    unkept.add(place)
                    continue
                for source in self._sources_of(scope, step):
                    if isinstance(source, RunRef):
                        unkept.add(place)
                    else:
                        readers[source[0].key, source[1].name].append(place)
        waiting = list(unkept)
        while waiting:
            new = {reader for reader in readers[waiting.pop()] if reader not in unkept}
            unkept |= new
            waiting += new
        return unkept

    def _own_obstacle(self, scope: Scope, step: Step) -> str | None:
        return self._effect(step) or self._unread(scope, step)

    def _sources_of(self, scope: Scope, step: Step) -> Iterator[_Source]:
        """Yield what changes a step's values in each run: facts of the run, makers of files."""
        seen: set[tuple[ScopeKey, Value]] = set()
        ways = [_within(scope, step, children(step))]
        while ways:
            found = next(ways[-1], None)
            if found is None:
                ways.pop()
                continue
            inside, reader, value = found
            match value:
                case RunRef():
                    yield value
                case ItemRef() if reader.foreach is not None:
                    ways.append(_within(inside, reader, [reader.foreach.over[value.name]]))
                case ParamRef() | StepRef() if (inside.key, value) not in seen:
                    seen.add((inside.key, value))
                    if isinstance(value, ParamRef):
                        ways.append(self._around(inside, value))
                        continue
                    producer = self._file_producer(inside, value)
                    if producer is not None and isinstance(producer.action, Group):
                        ways.append(self._handed_out(inside, producer, value))
                    elif producer is not None:
                        yield inside, producer
                case _:
                    pass

    def _around(self, scope: Scope, value: ParamRef) -> Iterator[_Found]:
        """Yield what a group is given for an input."""
        owner = scope.owner
        given = self._indexes[scope.key].inputs.get(value.name)
        if owner is None or given is None or given.value is None:
            return iter(())
        return _within(self._scopes[scope.key_around], owner, [given.value])

    def _handed_out(self, scope: Scope, group: Step, value: StepRef) -> Iterator[_Found]:
        """Yield what a group hands out as an output."""
        inside = self._scopes[scope.handler, (*scope.path, group.name)]
        handed = self._indexes[inside.key].outputs.get(value.output)
        if handed is None or handed.value is None:
            return iter(())
        return _within(inside, group, [handed.value])

    def _file_producer(self, scope: Scope, value: StepRef) -> Step | None:
        """Return the group of which an output is read, or the step of which a file is."""
        index = self._indexes[scope.key]
        producer = None if self._by_content else index.steps.get(value.step)
        if producer is None or isinstance(producer.action, Group):
            return producer
        return producer if value.output in index.files[value.step] else None


class _Index:
    """What is looked up in a scope."""

    def __init__(self, scope: Scope, workflow: Workflow) -> None:
        self.steps = {step.name: step for step in scope.steps}
        self.files = {
            step.name: {output.name for output in step.outputs if is_file(output.type)}
            for step in scope.steps
        }
        owner = scope.owner
        self.inputs: Mapping[str, Input] = _by_name(() if owner is None else owner.inputs)
        """Of the group that it is."""
        self.outputs: Mapping[str, Output] = _by_name(() if owner is None else owner.outputs)
        self.read = _read(scope, workflow)
        """The names of the steps of which something is read."""
        self.folder_reader = _folder_readers(scope)
        """Who reads the files of all items of a step as one folder, the first that does."""


_Named = t.TypeVar("_Named", Input, Output)


def _by_name(fields: Iterable[_Named]) -> dict[str, _Named]:
    return {one.name: one for one in fields}


def _within(scope: Scope, reader: Step, values: Iterable[Value]) -> Iterator[_Found]:
    for value in values:
        for inner in walk(value):
            yield scope, reader, inner


def _read(scope: Scope, workflow: Workflow) -> frozenset[str]:
    """Return the names of the steps of a scope of which something is read."""
    read = {one.step for step in scope.steps for one in references(step)}
    if scope.owner is None and scope.path:  # hooks, of which nobody outside reads anything
        return frozenset(read)
    if scope.owner is not None:
        outputs = [output.value for output in scope.owner.outputs]
    elif scope.handler is None:
        outputs = [output.value for output in workflow.outputs]
        read |= {
            one.step
            for handler in workflow.exit_handlers
            for step in handler.steps
            for one in references(step)
        }
    else:
        outputs = []
    for value in outputs:
        read |= {one.step for one in output_references(value)}
    return frozenset(read | read_in_scope(scope, workflow))


def _folder_readers(scope: Scope) -> dict[str, str]:
    found: dict[str, str] = {}
    for step in scope.steps:
        for given in step.inputs:
            value = given.value
            if given.many and is_file(given.type) and isinstance(value, StepRef):
                found.setdefault(value.step, step.name)
    return found
