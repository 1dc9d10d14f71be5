"""A workflow as its steps and what lies between them, with what means the same written the same."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from benchmarks.nl.aspects import Aspects, step_facts
from benchmarks.nl.conditions import (
    Comparison,
    Junction,
    Test,
    ValueRanges,
    as_test,
    comparisons,
    constants,
)
from benchmarks.nl.expressions import (
    Before,
    Each,
    Expression,
    Fact,
    Given,
    Known,
    Made,
    Part,
    Several,
    first_of,
    inside,
    text_of,
    written,
)
from benchmarks.nl.reading import Read, reads_of, with_wholes
from couler.ir.graph import Graph
from couler.ir.policies import AnyOf, Dependency
from couler.ir.values import (
    Field,
    FirstOf,
    ItemRef,
    Literal,
    OrElse,
    OwnRef,
    ParamRef,
    Range,
    RoundRef,
    RunRef,
    StepRef,
    Template,
    Text,
    Value,
)
from couler.ir.workflow import STDOUT, Group, Input, Step, Workflow

NodeKind: t.TypeAlias = t.Literal["step", "map", "loop", "group"]


@dataclass
class FlowNode:
    """A step, or what holds steps together: a map, a loop, a group with policies of its own."""

    kind: NodeKind
    step: Step
    name: str
    holder: int | None = None
    is_handler: bool = False
    test: Test | None = None
    reads: tuple[Read, ...] = ()
    arguments: Mapping[str, Expression] = field(default_factory=dict)
    over: Mapping[str, Expression] = field(default_factory=dict)
    again: Test | None = None
    awaits: set[int] = field(default_factory=set)
    reacts: set[tuple[str, frozenset[int]]] = field(default_factory=set)
    resolve: t.Callable[[Text], Expression] = lambda text: Known(text)

    @property
    def given(self) -> tuple[Expression, ...]:
        """All that it reads, but conditions."""
        return (*(read.value for read in self.reads), *self.arguments.values())


@dataclass
class Flow:
    """The nodes of a workflow, and the values that it gives out."""

    workflow: Workflow
    nodes: list[FlowNode] = field(default_factory=list)
    parameters: frozenset[str] = frozenset()
    """Those that count as parameters; the others stand for their defaults."""
    outputs: dict[str, Expression] = field(default_factory=dict)
    rounds: dict[int, Mapping[str, Expression]] = field(default_factory=dict)
    """By loop: what a round gives out."""

    @property
    def depth(self) -> int:
        """The number of steps in the longest chain of steps that wait for each other."""
        edges = {
            str(place): map(str, node.awaits.union(*(nodes for _, nodes in node.reacts)))
            for place, node in enumerate(self.nodes)
        }
        return len(Graph(edges).levels)

    def made_in(self, expression: Expression) -> Iterator[int]:
        """Yield the nodes whose outputs an expression reads in the same round."""
        for part in inside(expression):
            if isinstance(part, Made):
                yield part.node


class _Expanded(t.NamedTuple):
    leaves: tuple[int, ...]
    outputs: t.Callable[[str], Expression]


@dataclass(frozen=True)
class _Around:
    """What is known where a step stands."""

    values: Mapping[str, Expression]
    steps: dict[str, _Expanded]
    path: str = ""
    items: Mapping[str, Expression] = field(default_factory=dict)
    loop: int | None = None
    holder: int | None = None
    is_handler: bool = False
    test: Test | None = None
    awaits: frozenset[int] = frozenset()
    reacts: frozenset[tuple[str, frozenset[int]]] = frozenset()
    apart: frozenset[int] = frozenset()
    """Nodes that are waited for in another way than for their success."""


def flow_of(workflow: Workflow, aspects: Aspects, known: Iterable[str] | None = None) -> Flow:
    """Return the flow of a workflow; parameters that are not known stand for their defaults."""
    builder = _Builder(workflow, aspects)
    names = None if known is None else set(known)
    values: dict[str, Expression] = {
        one.name: Given(one.name)
        if names is None or one.name in names or one.required
        else Known(one.default)
        for one in workflow.parameters
    }
    counted = (name for name, value in values.items() if isinstance(value, Given))
    builder.flow.parameters = frozenset(counted)
    around = _Around(values, {})
    builder.expand_all(workflow.steps, around)
    for output in workflow.outputs:
        if output.value is not None:
            builder.flow.outputs[output.name] = builder.resolve(output.value, around)
    for handler in workflow.exit_handlers:
        status = {"failure": "failed", "success": "succeeded"}.get(handler.on)
        test = status and Comparison("==", Fact("status"), Known(status))
        there = replace(around, steps=dict(around.steps), path="exit:", is_handler=True)
        builder.expand_all(handler.steps, replace(there, test=test or None))
    return builder.flow


class _Builder:
    def __init__(self, workflow: Workflow, aspects: Aspects) -> None:
        self.flow = Flow(workflow)
        self._aspects = aspects

    def expand_all(self, steps: tuple[Step, ...], around: _Around) -> tuple[int, ...]:
        by_name = {step.name: step for step in steps}
        leaves: list[int] = []
        for name in Graph.of(steps).topological_order:
            expanded = self._expand(by_name[name], around)
            around.steps[name] = expanded
            leaves += expanded.leaves
        return tuple(leaves)

    def _expand(self, step: Step, around: _Around) -> _Expanded:
        around = self._with_order(step, around)
        if step.when is not None:
            own = as_test(step.when, lambda value: self.resolve(value, around))
            test = own if around.test is None else Junction("and", (around.test, own))
            around = replace(around, test=test)
        if step.foreach is None:
            return self._looped(step, around, f"{around.path}{step.name}")
        over = {name: self.resolve(items, around) for name, items in step.foreach.over.items()}
        is_bounded = "foreach.max_parallel" in self._aspects.of(step_facts(step))
        rows = None if is_bounded else rows_of(over)
        if rows is not None:
            return self._unrolled(step, around, rows)
        holder = self._add("map", step, around, f"{around.path}{step.name}", over=over)
        items = {name: Each(holder, name) for name in over}
        awaits = around.awaits | self._made_in(over.values(), around)
        there = replace(around, items=items, holder=holder, awaits=awaits)
        return self._looped(step, there, f"{around.path}{step.name}")

    def _unrolled(
        self, step: Step, around: _Around, rows: list[dict[str, Expression]]
    ) -> _Expanded:
        made = [
            self._looped(step, replace(around, items=row), f"{around.path}{step.name}[{number}]")
            for number, row in enumerate(rows)
        ]
        leaves = tuple(leaf for one in made for leaf in one.leaves)
        return _Expanded(
            leaves,
            lambda name: Several("list", tuple(one.outputs(name) for one in made), items_of(rows)),
        )

    def _looped(self, step: Step, around: _Around, path: str) -> _Expanded:
        if step.loop is None:
            return self._body(step, around, path)
        holder = self._add("loop", step, around, path)
        inner = self._body(step, replace(around, loop=holder, holder=holder), path)
        again = as_test(
            step.loop.condition,
            lambda value: self.resolve(value, around, rounds=inner.outputs),
        )
        self.flow.nodes[holder].again = again
        names = [output.name for output in step.outputs] or ["result"]
        self.flow.rounds[holder] = {name: inner.outputs(name) for name in names}
        return inner

    def _body(self, step: Step, around: _Around, path: str) -> _Expanded:
        if not isinstance(step.action, Group):
            node = self._leaf(step, around, path)
            return _Expanded((node,), lambda name: Made(node, () if name == STDOUT else (name,)))
        holder = around.holder
        if self._aspects.of(facts_at("group", step)):
            holder = self._add("group", step, around, path)
        values = {
            given.name: self.resolve(given.value, around)
            for given in step.inputs
            if given.value is not None
        }
        there = replace(
            around, values=values, steps={}, path=f"{path}/", items={}, loop=None, holder=holder
        )
        leaves = self.expand_all(step.action.steps, there)
        outputs = {
            output.name: self.resolve(output.value, there)
            for output in step.outputs
            if output.value is not None
        }
        return _Expanded(leaves, lambda name: outputs.get(name, Known(None)))

    def _leaf(self, step: Step, around: _Around, path: str) -> int:
        files = [given for given in step.inputs if given.path and given.value is not None]

        def resolve(text: Text) -> Expression:
            if isinstance(text, str):
                return self._in_text(text, files, around)
            return self.resolve(text, around)

        node = self._add("step", step, around, path)
        made = self.flow.nodes[node]
        made.reads, arguments = reads_of(step, resolve)
        made.arguments = with_wholes(arguments, self._outputs)
        made.resolve = resolve
        made.awaits = set(around.awaits | self._made_in(made.given, around))
        made.reacts = set(around.reacts)
        if around.test is not None:
            sides = (side for one in comparisons(around.test) for side in (one.left, one.right))
            made.awaits |= self._made_in(sides, around)
        return node

    def _outputs(self, node: int) -> frozenset[str]:
        return frozenset(output.name for output in self.flow.nodes[node].step.outputs)

    def _add(
        self,
        kind: NodeKind,
        step: Step,
        around: _Around,
        path: str,
        over: Mapping[str, Expression] | None = None,
    ) -> int:
        node = FlowNode(kind, step, path, around.holder, around.is_handler, around.test)
        node.over = over or {}
        self.flow.nodes.append(node)
        return len(self.flow.nodes) - 1

    def _with_order(self, step: Step, around: _Around) -> _Around:
        awaits, apart, reacts = set(around.awaits), set(around.apart), set(around.reacts)
        for dependency in step.depends_on:
            match dependency:
                case str():
                    awaits |= self._leaves(dependency, around)
                case Dependency():
                    nodes = self._leaves(dependency.step, around)
                    apart |= nodes
                    reacts.add((dependency.on, frozenset(nodes)))
                case AnyOf():
                    for one in dependency.options:
                        name, on = (one, "success") if isinstance(one, str) else (one.step, one.on)
                        nodes = self._leaves(name, around)
                        apart |= nodes
                        reacts.add((f"any {on}", frozenset(nodes)))
        return replace(
            around, awaits=frozenset(awaits), apart=frozenset(apart), reacts=frozenset(reacts)
        )

    def _leaves(self, name: str, around: _Around) -> frozenset[int]:
        return frozenset(around.steps[name].leaves if name in around.steps else ())

    def _made_in(self, expressions: Iterable[Expression], around: _Around) -> frozenset[int]:
        found = (node for one in expressions for node in self.flow.made_in(one))
        return frozenset(found) - around.apart

    def resolve(
        self,
        value: Value,
        around: _Around,
        rounds: t.Callable[[str], Expression] | None = None,
    ) -> Expression:
        """Return what a value is where a step stands; `rounds` gives what has just been made."""

        def again(inner: Value) -> Expression:
            return self.resolve(inner, around, rounds)

        match value:
            case Literal():
                return Known(value.value)
            case ParamRef():
                return around.values.get(value.name, Given(value.name))
            case StepRef():
                there = around.steps.get(value.step)
                return Known(None) if there is None else there.outputs(value.output)
            case ItemRef():
                return around.items.get(value.name, Known(None))
            case RoundRef():
                if rounds is not None:
                    return rounds(value.output)
                initial = None if value.initial is None else again(value.initial)
                return (
                    initial or Known(None)
                    if around.loop is None
                    else Before(around.loop, value.output, initial)
                )
            case RunRef():
                return Fact(value.field)
            case OwnRef():
                return Fact(f"own {value.fact}")
            case Field():
                return part_of(again(value.of), value.path)
            case OrElse():
                inner = again(value.value)
                if not around.is_handler and self._is_there(inner, around):
                    return inner
                return first_of((inner, again(value.default)))
            case FirstOf():
                return first_of(map(again, value.options))
            case Range():
                return range_of(value, again)
            case Template():
                return text_of(
                    Known(part) if isinstance(part, str) else again(part) for part in value.parts
                )
        t.assert_never(value)

    def _is_there(self, value: Expression, around: _Around) -> bool:
        """Return whether a value is made whenever the step that reads it runs."""
        nodes = [self.flow.nodes[node] for node in self.flow.made_in(value)]
        return bool(nodes) and all(
            _implies(around.test, node.test)
            and not node.reacts
            and not any(one.optional or one.default is not None for one in node.step.outputs)
            for node in nodes
        )

    def _in_text(self, text: str, files: list[Input], around: _Around) -> Expression:
        """Return a text with the places of files that the step takes in replaced by the files."""
        for given in files:
            if given.path and given.value is not None and given.path in text:
                left, right = text.split(given.path, 1)
                middle = self.resolve(given.value, around)
                return text_of(
                    (
                        self._in_text(left, files, around),
                        middle,
                        self._in_text(right, files, around),
                    )
                )
        return Known(text)


def _implies(one: Test | None, other: Test | None) -> bool:
    """Return whether a condition holds whenever the first one does."""
    ranges, given = ValueRanges(constants(one, other)), () if one is None else (one,)
    return other is None or ranges.cases(*given, other) == ranges.cases(*given)


def facts_at(kind: NodeKind, step: Step) -> dict[str, Hashable]:
    """Return what a step states for one of its nodes: its map, its loop or itself."""
    own = {"map": "foreach.", "loop": "loop."}
    found = step_facts(step)
    if kind in own:
        return {name: value for name, value in found.items() if name.startswith(own[kind])}
    return {
        name: value for name, value in found.items() if not name.startswith(("foreach", "loop"))
    }


# lists and parts of values, as far as they are known before a run ---------------------------------

UNROLLED_ITEMS = 20
"""A map over at most so many known items is the same as that many steps."""


def rows_of(over: Mapping[str, Expression]) -> list[dict[str, Expression]] | None:
    """Return the items of lists that are known and short, each by the names of the lists."""
    columns: dict[str, tuple[Expression, ...]] = {}
    for name, items in over.items():
        match items:
            case Several(how="list"):
                columns[name] = items.parts
            case Known(value=tuple() | list() as values):
                columns[name] = tuple(Known(value) for value in values)
            case _:
                return None
    lengths = {len(items) for items in columns.values()}
    if len(lengths) != 1 or not 0 < next(iter(lengths)) <= UNROLLED_ITEMS:
        return None
    count = lengths.pop()
    return [{name: items[row] for name, items in columns.items()} for row in range(count)]


def items_of(rows: list[dict[str, Expression]]) -> tuple[str, ...]:
    """Return a text for each row of items, nothing if some are not known."""
    texts = []
    for row in rows:
        known = [item.value for item in row.values() if isinstance(item, Known)]
        if len(known) < len(row):
            return ()
        texts.append(json.dumps(sorted(map(written, known))))
    return tuple(texts)


def part_of(whole: Expression, path: tuple[str | int, ...]) -> Expression:
    """Return a part of a value."""
    for key in path:
        if isinstance(whole, Several) and whole.how == "list" and isinstance(key, int):
            if -len(whole.parts) <= key < len(whole.parts):
                whole = whole.parts[key]
        elif isinstance(whole, Known):
            try:
                whole = Known(whole.value[key])
            except (LookupError, TypeError):
                return Known(None)
        elif isinstance(whole, Several) and whole.how == "first_of":
            whole = replace(whole, parts=tuple(part_of(one, (key,)) for one in whole.parts))
        elif isinstance(whole, Made):
            whole = Made(whole.node, (*whole.path, key))
        elif isinstance(whole, Part):
            whole = Part(whole.of, (*whole.path, key))
        else:
            whole = Part(whole, (key,))
    return whole


def range_of(value: Range, resolve: t.Callable[[Value], Expression]) -> Expression:
    """Return a row of numbers, written out where it is known and short."""
    ends = [None if end is None else resolve(end) for end in (value.start, value.count, value.end)]
    start, count, end = (one.value if isinstance(one, Known) else None for one in ends)
    row: range | None = None
    if isinstance(start, int) and isinstance(count, int):
        row = range(start, start + max(count, 0))
    elif isinstance(start, int) and isinstance(end, int):
        row = range(start, end + 1) if end >= start else range(start, end - 1, -1)
    if row is not None and len(row) <= UNROLLED_ITEMS:
        return Known(tuple(value.format % n if value.format else n for n in row))
    parts = tuple(Known(None) if one is None else one for one in ends)
    return Several("range", (*parts, Known(value.format)))
