"""The graph of the artifacts that a workflow makes and reads: what caching reasons about."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter

from benchmarks.cache_simulation.known_lists import with_known_lists
from couler.caching.graph import ArtifactGraph
from couler.ir.base import FrozenDict
from couler.ir.defaults import resolve_defaults
from couler.ir.quantity import parse_quantity
from couler.ir.values import Field, ItemRef, ParamRef, StepRef, Text, children, is_file
from couler.ir.walk import HANDLER_PREFIX, predecessors
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.durations import item_counts, known_seconds

_MOST_ENDS = 100
"""Of a step of more instances that end last, others wait by way of a job that takes no time."""


def artifact_graph(workflow: Workflow, *, unknown_bytes: int = 1) -> ArtifactGraph:
    """Return the jobs of a workflow and the artifacts between them."""
    whole = with_known_lists(resolve_defaults(workflow))
    drawn = _Drawing(unknown_bytes)
    done = drawn.scope(_Place(""), whole.steps)
    for output in whole.outputs:
        drawn.given.update(drawn.value(_Sight(done), output.value).artifacts)
    ends = drawn.joined("end", drawn.sinks(range(len(drawn.jobs))))
    for handler in whole.exit_handlers:
        if handler.on != "failure":
            place = _Place(f"{HANDLER_PREFIX}{handler.name}/", after=ends, outer=done)
            drawn.scope(place, handler.steps)
    return drawn.graph()


class _Given(t.NamedTuple):
    """Which artifacts a value is made of."""

    artifacts: tuple[int, ...] = ()
    items: tuple[_Given, ...] | None = None
    """Those of each item, of a list that is gathered from a foreach of known items."""


_NOTHING = _Given()


def _union(parts: Sequence[_Given]) -> _Given:
    some = [part for part in parts if part.artifacts]
    if len(some) <= 1:
        return some[0] if some else _NOTHING
    return _Given(tuple(dict.fromkeys(one for part in some for one in part.artifacts)))


@dataclass(frozen=True, slots=True)
class _Done:
    """The instances of a step, each by what it gives under which name."""

    path: str
    ends: tuple[int, ...]
    """The jobs with whose end the step has ended."""
    items: tuple[_Instance, ...]
    is_list: bool
    """Whether its outputs are gathered to lists of known lengths."""


@dataclass(frozen=True, slots=True)
class _Instance:
    """One item of a step, or the step itself."""

    ends: tuple[int, ...]
    output: Callable[[str], _Given]
    """Gives which artifacts an output of a name is made of."""


class _Place(t.NamedTuple):
    """Where a scope is, and what it is given."""

    prefix: str
    parameters: Mapping[str, _Given] = FrozenDict()
    after: tuple[int, ...] = ()
    """The jobs that have ended before it starts."""
    outer: Mapping[str, _Done] = FrozenDict()
    """The steps of the workflow, which exit handlers read as well."""


class _Sight(t.NamedTuple):
    """What values of a step can name."""

    done: Mapping[str, _Done]
    parameters: Mapping[str, _Given] = FrozenDict()
    items: Mapping[str, _Given] = FrozenDict()


@dataclass(slots=True)
class _Drawing:
    """A graph in the making."""

    unknown_bytes: int
    jobs: list[str] = field(default_factory=list)
    steps: list[Step | None] = field(default_factory=list)
    """What each job is an instance of; None for one that only joins others."""
    before: list[dict[int, None]] = field(default_factory=list)
    """The jobs that each job waits for, whether it reads from them or not."""
    artifacts: dict[tuple[int, str], int] = field(default_factory=dict)
    """The numbers of outputs that values are made of, whether something reads them or not."""
    readers: list[dict[int, None]] = field(default_factory=list)
    given: set[int] = field(default_factory=set)
    """The outputs that the workflow gives out."""
    ends: dict[str, int] = field(default_factory=dict)
    """The jobs that join the ends of steps, by the paths of these."""

    def scope(self, place: _Place, steps: Sequence[Step]) -> dict[str, _Done]:
        """Draw the steps of a scope; return what they give."""
        counts = item_counts(steps)
        here = {step.name for step in steps}
        done = dict(place.outer)
        for step, befores in _in_order(steps):
            count = counts.get(step.name) if step.foreach is not None else None
            named = [done[name] for name in befores if name in here]
            ends = [job for one in named for job in self.joined(one.path, one.ends)]
            waits = tuple(dict.fromkeys(ends)) or place.after
            done[step.name] = self._step(_Sight(done, place.parameters), place, step, count, waits)
        return done

    def _step(
        self, seen: _Sight, place: _Place, step: Step, count: int | None, waits: tuple[int, ...]
    ) -> _Done:
        path = f"{place.prefix}{step.name}"
        over = step.foreach.over if step.foreach is not None else {}
        lists = {name: self.value(seen, value) for name, value in over.items()}
        own = step.model_copy(update={"foreach": None}) if over else step
        instances = []
        for number in range(1 if count is None else count):
            items = {name: _item(given, count, number) for name, given in lists.items()}
            name = path if count is None else f"{path}[{number}]"
            instances.append(self._instance(name, own, seen._replace(items=items), waits))
        ends = tuple(job for one in instances for job in one.ends) or waits
        return _Done(path, ends, tuple(instances), count is not None)

    def _instance(self, path: str, step: Step, seen: _Sight, waits: tuple[int, ...]) -> _Instance:
        if isinstance(step.action, Group):
            return self._group(path, step, step.action, seen, waits)
        reads = _union([*seen.items.values(), *(self.value(seen, one) for one in children(step))])
        job = self._job(path, step, waits)
        for artifact in reads.artifacts:
            self.readers[artifact][job] = None
        return _Instance((job,), lambda output: _Given((self._artifact(job, output),)))

    def _group(
        self, path: str, step: Step, group: Group, seen: _Sight, waits: tuple[int, ...]
    ) -> _Instance:
        parameters = {given.name: self.value(seen, given.value) for given in step.inputs}
        first = len(self.jobs)
        inner = _Sight(self.scope(_Place(f"{path}/", parameters, waits), group.steps), parameters)
        values = {output.name: output.value for output in step.outputs}
        ends = self.sinks(range(first, len(self.jobs))) or waits
        return _Instance(ends, lambda output: self.value(inner, values.get(output)))

    def value(self, seen: _Sight, value: Text | None) -> _Given:
        """Return which artifacts a value is made of."""
        if value is None or isinstance(value, str):
            return _NOTHING
        match value:
            case ParamRef():
                return seen.parameters.get(value.name, _NOTHING)
            case ItemRef():
                return seen.items.get(value.name, _NOTHING)
            case StepRef():
                source = seen.done.get(value.step)
                return _NOTHING if source is None else _gathered(source, value.output)
            case Field(of=of, path=(int(index), *_)):
                whole = self.value(seen, of)
                return _item(whole, len(whole.items or ()), index)
        return _union([self.value(seen, one) for one in children(value)])

    def joined(self, path: str, ends: tuple[int, ...]) -> tuple[int, ...]:
        """Return what to wait for so that jobs have ended that end the step of a path."""
        if len(ends) <= _MOST_ENDS:
            return ends
        if path not in self.ends:
            self.ends[path] = self._job(path, None, ends)
        return (self.ends[path],)

    def sinks(self, jobs: Iterable[int]) -> tuple[int, ...]:
        """Return those jobs, of all from one on, that no other of them waits for."""
        chosen = tuple(jobs)
        followed = {before for job in chosen for before in self.before[job]}
        return tuple(job for job in chosen if job not in followed)

    def _job(self, name: str, step: Step | None, waits: Iterable[int]) -> int:
        self.jobs.append(name)
        self.steps.append(step)
        self.before.append(dict.fromkeys(waits))
        return len(self.jobs) - 1

    def _artifact(self, job: int, output: str) -> int:
        known = self.artifacts.setdefault((job, output), len(self.readers))
        if known == len(self.readers):
            self.readers.append({})
        return known

    def graph(self) -> ArtifactGraph:
        said = [None if step is None else known_seconds(step) for step in self.steps]
        known = [one for one in said if one is not None]
        usual = sum(known) / len(known) if known else 1.0
        seconds = [
            0.0 if step is None else usual if one is None else one
            for step, one in zip(self.steps, said, strict=True)
        ]
        kept = sorted(
            (job, number, output)
            for (job, output), number in self.artifacts.items()
            if self.readers[number] or number in self.given
        )
        return ArtifactGraph(
            jobs=tuple(self.jobs),
            artifacts=tuple(f"{self.jobs[job]}.{output}" for job, _, output in kept),
            producer=tuple(job for job, _, _ in kept),
            readers=tuple(tuple(self.readers[number]) for _, number, _ in kept),
            size_bytes=tuple(self._size(job, output) for job, _, output in kept),
            seconds=tuple(seconds),
            resources=tuple(
                one * (0.0 if step is None else _processors(step))
                for step, one in zip(self.steps, seconds, strict=True)
            ),
            waits=tuple(tuple(befores) for befores in self.before),
        )

    def _size(self, job: int, output: str) -> int:
        step = t.cast("Step", self.steps[job])
        known = None if step.profile is None else step.profile.output_bytes
        whole = self.unknown_bytes if known is None else known
        files = [one.name for one in step.outputs if is_file(one.type)]
        if files:
            return _share(whole, files, output) if output in files else 0
        names = [one.name for one in step.outputs]
        return _share(whole, names if output in names else [*names, output], output)


def _gathered(source: _Done, output: str) -> _Given:
    items = tuple(one.output(output) for one in source.items)
    if not source.is_list:
        return items[0]
    return _Given(tuple(dict.fromkeys(one for item in items for one in item.artifacts)), items)


def _item(given: _Given, count: int | None, number: int) -> _Given:
    """Return what of a list one item is, where it is known which; else all of it."""
    if count is None or given.items is None or len(given.items) != count:
        return given
    return given.items[number] if -count <= number < count else _NOTHING


def _share(whole: int, names: Sequence[str], name: str) -> int:
    each, rest = divmod(whole, len(names))
    return each + (names.index(name) < rest)


def _processors(step: Step) -> float:
    asked = step.resources
    if asked is None:
        return 1.0
    cpu = asked.cpu or asked.cpu_limit
    cores = 0.0 if cpu is None else float(parse_quantity(cpu))
    return max(cores + (0 if asked.gpu is None else asked.gpu.count), 1.0)


def _in_order(steps: Sequence[Step]) -> list[tuple[Step, tuple[str, ...]]]:
    """Return the steps of a scope after those that they wait for, and the names of these."""
    named = {step.name: (step, predecessors(step)) for step in steps}
    seen: set[str] = set()
    for name, (_, befores) in named.items():
        if any(one in named and one not in seen for one in befores):
            graph = {step: befores for step, (_, befores) in named.items()}
            return [named[one] for one in TopologicalSorter(graph).static_order() if one in named]
        seen.add(name)
    return list(named.values())
