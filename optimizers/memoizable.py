"""Which steps can be taken from an earlier run without anybody missing what they do."""

from __future__ import annotations

import typing as t
from collections.abc import Iterator, Mapping

from couler.ir.evaluation.outputs import read_in_scope
from couler.ir.locks import locks_of
from couler.ir.storage import ConfigVolume, EmptyVolume, SecretVolume
from couler.ir.values import ItemRef, ParamRef, RunRef, StepRef, Value, walk
from couler.ir.walk import Scope, ScopeKey, output_references, read_values, references, scopes
from couler.ir.wire import is_file
from couler.ir.workflow import STDOUT, Container, Group, Script, Step, Workflow

_OWN_VOLUMES = (ConfigVolume, EmptyVolume, SecretVolume)
"""Volumes in which a step leaves nothing for others."""


_Source: t.TypeAlias = RunRef | tuple[Scope, Step]


class Memoizable:
    """Tells of the steps of a workflow why an earlier run cannot stand for them.

    Parameters
    ----------
    workflow
        A verified workflow.
    files_by_content
        Whether the engine's keys have the content of files, as those of this machine do. Elsewhere
        a file counts by its location, which has the run in it unless its step is memoized, too.
    refused
        Why the engine can keep nothing of some steps, by their paths.

    Notes
    -----
    O(n + m) for n steps and m references, each of which is followed through at most as many groups
    as there are around it.
    """

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
        self._read = {key: _reads(scope, workflow) for key, scope in self._scopes.items()}
        self._decided: dict[tuple[ScopeKey, str], bool] = {}

    def steps(self) -> Iterator[tuple[Scope, Step]]:
        """Yield all steps that run something, outside of exit handlers and hooks."""
        for scope in self._scopes.values():
            for step in scope.steps:
                if scope.handler is None and not isinstance(step.action, Group):
                    yield scope, step

    def obstacle(self, scope: Scope, step: Step) -> str | None:
        """Return why an earlier run cannot stand for a step; None if it can."""
        return (
            self._effect(step)
            or self._unread(scope, step)
            or self._unsteady_input(scope, step)
            or self._refused.get(scope.path_of(step))
        )

    def relies_on(self, scope: Scope, step: Step) -> Iterator[str]:
        """Yield the paths of the steps that must be memoized, too, for a step to be found again.

        They make files that the step reads, and have no cache yet.
        """
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
        read = self._read[scope.key]
        names = [name for one, name in read if one == step.name]
        if not names:
            return "nothing reads what it gives"
        if self._by_content or step.foreach is None:
            return None
        for other in scope.steps:
            for given in other.inputs:
                value = given.value
                is_folder = given.many and is_file(given.type)
                if is_folder and isinstance(value, StepRef) and value.step == step.name:
                    return f"{other.name} reads the files of all its items as one folder"
        return None

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

    def _sources_of(self, scope: Scope, step: Step) -> Iterator[_Source]:
        for value in read_values(step):
            yield from self._sources(scope, step, value)

    def _sources(self, scope: Scope, reader: Step, value: Value) -> Iterator[_Source]:
        """Yield what makes a value another in each run: facts of the run, makers of files."""
        for inner in walk(value):
            match inner:
                case RunRef():
                    yield inner
                case ParamRef():
                    yield from self._sources_around(scope, inner)
                case ItemRef():
                    if reader.foreach is not None:
                        yield from self._sources(scope, reader, reader.foreach.over[inner.name])
                case StepRef():
                    yield from self._sources_before(scope, inner)
                case _:
                    pass

    def _sources_around(self, scope: Scope, value: ParamRef) -> Iterator[_Source]:
        owner = scope.owner
        for given in () if owner is None else owner.inputs:
            if owner is not None and given.name == value.name and given.value is not None:
                yield from self._sources(self._scopes[scope.key_around], owner, given.value)

    def _sources_before(self, scope: Scope, value: StepRef) -> Iterator[_Source]:
        producer = next((step for step in scope.steps if step.name == value.step), None)
        if producer is None or self._by_content:
            return
        for output in producer.outputs:
            if output.name != value.output:
                continue
            if isinstance(producer.action, Group):
                inside = self._scopes[scope.handler, (*scope.path, producer.name)]
                if output.value is not None:
                    yield from self._sources(inside, producer, output.value)
            elif is_file(output.type):
                yield scope, producer

    def _can_be_kept(self, scope: Scope, producer: Step) -> bool:
        if producer.cache is not None:
            return True
        place = (scope.key, producer.name)
        if place not in self._decided:
            self._decided[place] = True  # of a loop, whose rounds read each other
            self._decided[place] = self.obstacle(scope, producer) is None
        return self._decided[place]


def _reads(scope: Scope, workflow: Workflow) -> frozenset[tuple[str, str]]:
    """Return the steps of a scope and the outputs of them that something reads."""
    read = {(one.step, one.output) for step in scope.steps for one in references(step)}
    if scope.owner is not None:
        outputs = [output.value for output in scope.owner.outputs]
    elif scope.handler is None:
        outputs = [output.value for output in workflow.outputs]
        for handler in workflow.exit_handlers:
            for step in handler.steps:
                read |= {(one.step, one.output) for one in references(step)}
    else:
        outputs = []
    for value in outputs:
        read |= {(one.step, one.output) for one in output_references(value)}
    read |= {(name, STDOUT) for name in read_in_scope(scope, workflow)}
    return frozenset(read)
