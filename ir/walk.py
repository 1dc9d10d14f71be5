"""Walks over a workflow: scopes and paths of steps, the values they read, the edges between."""

from __future__ import annotations

import functools
import itertools
import re
import typing as t
from collections.abc import Callable, Iterator

from couler.ir.artifacts import LOCATIONS, Location
from couler.ir.pods import PodContainer
from couler.ir.policies import AnyOf, Dependency, SourceRef
from couler.ir.traversal import Traversal
from couler.ir.values import REFERENCES, TEXTS, StepRef, Text, Value
from couler.ir.workflow import (
    ContainerSet,
    Group,
    Hook,
    Step,
    Workflow,
)

HOOKS = "hooks"
"""In the paths of the steps that are hooks: `train.hooks/notify`."""

Outcome: t.TypeAlias = t.Literal["success", "failure", "completion"]

ScopeKey: t.TypeAlias = tuple[str | None, tuple[str, ...]]
"""What tells a scope of a workflow from others: its `Scope.handler` and `Scope.path`."""


class Scope(t.NamedTuple):
    """A closed set of steps: a workflow's own, a group's, or an exit handler's."""

    path: tuple[str, ...]
    """Names of the groups around it, outermost first."""
    steps: tuple[Step, ...]
    owner: Step | None
    """The step whose group this is; None for the workflow and for exit handlers."""
    handler: str | None = None
    """Name of the exit handler that it belongs to."""

    @property
    def key(self) -> ScopeKey:
        """What tells it from the other scopes of its workflow."""
        return self.handler, self.path

    @property
    def key_around(self) -> ScopeKey:
        """The key of the scope that its group is a step of."""
        return self.handler, self.path[:-1]

    def path_of(self, step: Step) -> str:
        """Return the path of one of its steps, as messages and `couler.ir.walk` write it."""
        handler = () if self.handler is None else (f"{HANDLER_PREFIX}{self.handler}",)
        return "/".join((*handler, *self.path, step.name))


class _Itself(t.NamedTuple):
    """A workflow that equals no other: comparing two takes longer than a walk through one."""

    workflow: Workflow

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.workflow is other.workflow

    def __hash__(self) -> int:
        return id(self.workflow)


def scopes(workflow: Workflow) -> tuple[Scope, ...]:
    """Return every scope of a workflow, outer before inner, exit handlers last."""
    return _scopes(_Itself(workflow))


@functools.lru_cache(maxsize=1)  # each stage of a compilation asks several times
def _scopes(of: _Itself) -> tuple[Scope, ...]:
    return tuple(_all_scopes(of.workflow))


def _all_scopes(workflow: Workflow) -> Iterator[Scope]:
    yield from _scopes_below(Scope((), workflow.steps, None))
    if workflow.hooks:
        yield _hooks((HOOKS,), workflow.hooks, None)
    for handler in workflow.exit_handlers:
        yield from _scopes_below(Scope((), handler.steps, None, handler.name))


def _scopes_below(scope: Scope) -> Iterator[Scope]:
    yield scope
    # Most steps have neither, and an isinstance that says no takes longer.
    for step in [one for one in scope.steps if one.hooks or type(one.action) is Group]:
        if step.hooks:
            yield _hooks((*scope.path, f"{step.name}.{HOOKS}"), step.hooks, scope.handler)
        if isinstance(step.action, Group):
            inner = Scope((*scope.path, step.name), step.action.steps, step, scope.handler)
            yield from _scopes_below(inner)


def _hooks(path: tuple[str, ...], hooks: tuple[Hook, ...], handler: str | None) -> Scope:
    return Scope(path, tuple(hook.step for hook in hooks), None, handler)


def all_steps(workflow: Workflow) -> Iterator[Step]:
    """Yield every step of a workflow, those of exit handlers last."""
    return itertools.chain.from_iterable([scope.steps for scope in scopes(workflow)])


def steps_by_path(workflow: Workflow) -> Iterator[tuple[str, Step]]:
    """Yield every step of a workflow with its path, those of exit handlers last."""
    for scope in scopes(workflow):
        for step in scope.steps:
            yield scope.path_of(step), step


_STEPS: Traversal[Step] = Traversal(Step, enters=("steps",))


def map_steps(workflow: Workflow, change: Callable[[Step], Step]) -> Workflow:
    """Return a workflow with each of its steps replaced, those in groups first."""

    def changed(_: str, step: Step) -> Step:
        return change(_STEPS.map(step, changed) if type(step.action) is Group else step)

    return _STEPS.map(workflow, changed)


def skippable(workflow: Workflow) -> frozenset[str]:
    """Return the paths of the steps that a run in which nothing fails may leave out."""
    found: set[str] = set()
    on_failure = {handler.name for handler in workflow.exit_handlers if handler.on == "failure"}
    for scope in scopes(workflow):
        for step in scope.steps:
            path = scope.path_of(step)
            around = path.rpartition("/")[0]
            if (
                step.when is not None
                or around in found
                or around.endswith(HOOKS)
                or scope.handler in on_failure
                or any(outcome == "failure" for _, outcome in explicit_dependencies(step))
            ):
                found.add(path)
    return frozenset(found)


_NOT_SENDABLE = re.compile("[\0\ud800-\udfff]")


def unsendable(*values: object) -> str | None:
    """Return which text in values or nodes no process and no file can be given, or None."""
    waiting = [*values]
    for one in waiting:  # which grows
        if type(one) is tuple:
            waiting += one
        elif isinstance(one, str):
            if not one.isprintable() and (found := _NOT_SENDABLE.search(one)):
                what = "NUL" if found[0] == "\0" else "half of a surrogate pair"
                text = f"the text {one!r:.60} holds {what}"
                return f"{text}, which no process can be given. Give such data as a file"
        elif hasattr(one, "__pydantic_fields_set__"):  # a node: isinstance of models is slow
            fields = one.__dict__
            names = one.__pydantic_fields_set__
            waiting += [fields[name] for name in names if type(fields[name]) is not SourceRef]
        elif isinstance(one, dict):
            waiting += (*one, *one.values())
    return None


def step_values(step: Step) -> list[tuple[str, Text]]:
    """Return what a step reads in its own scope, each with the field that reads it."""
    return TEXTS.visit(step)


def pod_containers(step: Step) -> tuple[PodContainer, ...]:
    """Return the containers before and beside that of a step, and those of a container set."""
    own = step.action.containers if type(step.action) is ContainerSet else ()
    return step.init_containers + step.sidecars + own


FILES_AT: Traversal[Location] = Traversal(*LOCATIONS.values())
"""Finds where files are taken from and put to outside of the workflow."""


def locations(step: Step) -> list[Location]:
    """Return where a step takes files from and puts files to outside of the workflow."""
    return [at for _, at in FILES_AT.visit(step)]


def references(step: Step) -> list[StepRef]:
    """Return every reference that a step makes to an output of another step of its scope."""
    found = REFERENCES.visit(step)
    return [reference for _, reference in found] if found else []


def output_references(value: Value | None) -> list[StepRef]:
    """Return every reference inside a value."""
    if value is None or isinstance(value, StepRef):
        return [] if value is None else [value]
    return [reference for _, reference in REFERENCES.visit(value)]


def explicit_dependencies(step: Step) -> Iterator[tuple[str, Outcome]]:
    """Yield the dependencies that `depends_on` names, alternatives included."""
    for entry in step.depends_on:
        if type(entry) is str:  # most are: an isinstance of models that says no takes longer
            yield entry, "success"
            continue
        options = entry.options if isinstance(entry, AnyOf) else (entry,)
        for option in options:
            if isinstance(option, Dependency):
                yield option.step, option.on
            else:
                yield option, "success"


def told_apart(step: Step) -> Iterator[str]:
    """Yield the steps of whose end a step asks more than that it be a success."""
    for entry in step.depends_on:
        if type(entry) is str:
            continue
        if isinstance(entry, AnyOf):
            yield from (one if isinstance(one, str) else one.step for one in entry.options)
        elif isinstance(entry, Dependency):
            yield entry.step


def predecessors(step: Step) -> tuple[str, ...]:
    """Return the names of the steps that must end before a step starts, each once."""
    named = [name for name, _ in explicit_dependencies(step)]
    return tuple(dict.fromkeys([*named, *[one.step for one in references(step)]]))


def implied_dependencies(step: Step) -> tuple[str, ...]:
    """Return the steps that a step reads from and that `depends_on` does not name."""
    read = references(step)
    if not read:
        return ()
    named = {name for name, _ in explicit_dependencies(step)}
    return tuple(dict.fromkeys(one.step for one in read if one.step not in named))


HANDLER_PREFIX = "exit:"
"""Begins the path of an exit handler, and so those of its steps: `exit:notify/mail`."""

_PART = re.compile(r"(?P<name>[^\[\]@/]+)(?:\[(?P<item>\d+)\])?(?:@(?P<round>\d+))?")


class PathPart(t.NamedTuple):
    """One level of a path: a step, an item of its foreach, a round of its loop."""

    name: str
    item: int | None = None
    round: int | None = None

    def __str__(self) -> str:
        item = "" if self.item is None else f"[{self.item}]"
        round_ = "" if self.round is None else f"@{self.round}"
        return f"{self.name}{item}{round_}"


class StepPath(tuple[PathPart, ...]):
    """The place of a step's instance in a run, the same on every engine.

    Items and rounds count from 0. A path without an item (round) stands for the foreach (loop)
    as a whole.

    Examples
    --------
    >>> path = StepPath.parse("train[2]/fit@1")
    >>> path[1].round, str(path), str(path.parent)
    (1, 'train[2]/fit@1', 'train[2]')
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> StepPath:
        """Read a path from its text."""
        parts = []
        for piece in text.split("/"):
            match = _PART.fullmatch(piece)
            if match is None:
                raise ValueError(f"{text!r} is no path of a step")
            item, round_ = match["item"], match["round"]
            parts.append(
                PathPart(match["name"], item and int(item), round_ and int(round_))  # type: ignore[arg-type]  # None or int
            )
        return cls(parts)

    @property
    def parent(self) -> StepPath:
        """The path of the group that the step is in."""
        return StepPath(self[:-1])

    def __truediv__(self, name: str) -> StepPath:
        return StepPath((*self, PathPart(name)))

    def at_item(self, index: int) -> StepPath:
        """Return the path of an item of this foreach."""
        return StepPath((*self[:-1], self[-1]._replace(item=index)))

    def at_round(self, index: int) -> StepPath:
        """Return the path of a round of this loop."""
        return StepPath((*self[:-1], self[-1]._replace(round=index)))

    def __str__(self) -> str:
        return "/".join(map(str, self))

    def __repr__(self) -> str:
        return f"StepPath({str(self)!r})"


def without_places(path: StepPath) -> StepPath:
    """Return a path without items and rounds."""
    return StepPath(PathPart(part.name) for part in path)
