"""The structure of a flow: a graph with labels in which names of steps do not occur."""

from __future__ import annotations

import json
import re
import typing as t
from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations

from benchmarks.nl.aspects import Aspects, facts, json_text
from benchmarks.nl.conditions import Test, ValueRanges
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
    text_of,
)
from benchmarks.nl.flow import Flow, FlowNode, facts_at
from benchmarks.nl.known_names import all_names, known_texts, maker_of, output_names, output_place
from benchmarks.nl.reading import SHELLS, words_of
from benchmarks.nl.structure import Name, Structure
from couler.ir.graph import Graph
from couler.ir.workflow import Container, Http, Job, Script, Step


def structure_of(
    flow: Flow, aspects: Aspects, outputs: Iterable[str], constants: tuple[t.Any, ...]
) -> Structure:
    """Return the structure of a flow; `constants` are those of all conditions compared."""
    return _Writer(flow, aspects, constants).write(outputs)


class _Writer:
    def __init__(self, flow: Flow, aspects: Aspects, constants: tuple[t.Any, ...]) -> None:
        self._flow, self._aspects = flow, aspects
        self._graph = Structure()
        self._shared: dict[Hashable, int] = {}
        self._before = _reduced([node.awaits for node in flow.nodes])
        self._ranges = ValueRanges(constants, self._known)

    def write(self, outputs: Iterable[str]) -> Structure:
        graph, flow = self._graph, self._flow
        for node in flow.nodes:
            number = graph.add((self._kind(node), node.is_handler and "of an exit handler"))
            graph.facts[number] = self._aspects.of(facts_at(node.kind, node.step))
        for parameter in flow.workflow.parameters:
            if parameter.name in flow.parameters:
                number = self._value(Given(parameter.name))
                graph.facts[number] = self._aspects.of(facts(parameter, "parameter."))
        graph.facts[graph.add(("workflow",))] = self._aspects.of(facts(flow.workflow))
        for number, node in enumerate(flow.nodes):
            self._connect(number, node)
        for name in outputs:
            if name in flow.outputs:
                value = self._value(flow.outputs[name], is_ordered=True)
                graph.connect(graph.add(("output", name)), "gives", value)
        return graph

    # nodes ----------------------------------------------------------------------------------

    def _kind(self, node: FlowNode) -> Hashable:
        """Return the kind of a node as people call it."""
        if node.kind != "step":
            return node.kind
        match node.step.action:
            case Container() | Script() if "any kind" in self._aspects:
                return "process"
            case Script(function=str()):
                return "Python step"
            case Container(command=()):
                return "container with the command of its image"
            case Container() | Script():
                return "container"
            case action:
                return action.kind.replace("_", " ")

    def _known(self, value: Expression) -> tuple[t.Any, ...] | None:
        """Return all values that an expression can have, None where these are not known."""
        match value:
            case Fact("status"):
                return ("succeeded", "failed")
            case Given(name):
                (own,) = (one for one in self._flow.workflow.parameters if one.name == name)
                return own.choices or None
            case Made(node, path=()):
                return known_texts(self._flow.nodes[node].step)
            case _:
                return None

    # edges ----------------------------------------------------------------------------------

    def _connect(self, number: int, node: FlowNode) -> None:
        graph = self._graph
        if node.holder is not None:
            graph.connect(number, "inside", node.holder)
        for before in self._before[number]:
            graph.connect(number, "after", before)
        for on, nodes in node.reacts:
            waits = graph.add(("waits", on))
            graph.connect(number, "waits", waits)
            for one in nodes:
                graph.connect(waits, "for", one)
        for name, items in node.over.items():
            graph.connect(self._value(Each(number, name)), "of", self._value(items))
        if node.test is not None and node.kind == "step":
            self._test(number, "if", node.test)
        if node.again is not None:
            self._test(number, "again if", node.again)
        if node.kind == "step":
            maker = maker_of(node.step)
            if maker is not None:
                given = tuple(sorted((name, repr(one)) for name, one in node.arguments.items()))
                self._graph.calls[number] = (maker[0], given)
            self._connect_texts(number, node)
            if "data" in self._aspects:
                self._connect_reads(number, node)

    def _connect_reads(self, number: int, node: FlowNode) -> None:
        if self._is_of_any_kind(node.step):
            for value in node.given:
                self._read(number, value, "reads")
            return
        for read in node.reads:
            self._read(number, read.value, ("reads", read.role))
        known = frozenset(node.arguments)
        for name, value in node.arguments.items():
            for path, part in self._items((name,), value):
                argument = self._graph.add(("argument",))
                maker = maker_of(node.step)
                self._graph.names[argument] = Name("argument", number, path, known, maker)
                self._graph.connect(number, "is given", argument)
                self._graph.connect(argument, "which is", self._value(part))

    def _is_of_any_kind(self, step: Step) -> bool:
        return "any kind" in self._aspects and isinstance(step.action, Container | Script)

    def _items(
        self, path: tuple[str | int, ...], value: Expression
    ) -> Iterator[tuple[tuple[str | int, ...], Expression]]:
        """Yield what varies of an argument; items of a list are arguments of their own."""
        if isinstance(value, Several) and value.how == "list":
            for place, part in enumerate(value.parts):
                yield from self._items((*path, place), part)
        elif (varying := self._varying(value)) is not None:
            yield path, varying

    def _varying(self, value: Expression) -> Expression | None:
        """Return what of an argument is no constant; None if nothing is."""
        if "literals" in self._aspects:
            return value
        match value:
            case Known():
                return None
            case Several(how="text", parts=parts):
                found = tuple(one for one in map(self._varying, parts) if one is not None)
                if len(found) < 2:
                    return found[0] if found else None
                return Several("text", found)
            case _:
                return value

    def _connect_texts(self, number: int, node: FlowNode) -> None:
        """Add what is written in a step's process or request."""
        action, texts = node.step.action, list[tuple[str, Expression]]()
        if isinstance(action, Container | Script) and not node.step.is_function:
            words = words_of(node.step)
            is_shell = words[0:1] and words[0] in SHELLS and words[1:2] == ["-c"]
            if ("sources" if is_shell else "commands") in self._aspects:
                texts = [
                    (f"word {place}", text_of((node.resolve(word),)))
                    for place, word in enumerate(words)
                ]
        elif isinstance(action, Http):
            texts = [("url", node.resolve(action.url))]
            if action.body is not None:
                texts.append(("body", json_form(node.resolve(action.body))))
        elif isinstance(action, Job):
            texts = [(f"at {one.path}", node.resolve(one.value)) for one in action.values]
        for place, text in texts:
            self._graph.connect(number, place, self._value(text, is_ordered=True))

    def _read(self, reader: int, read: Expression, label: Hashable) -> None:
        """Connect a step with what it reads somewhere: values, but no constants."""
        match read:
            case Several(how="text" | "list", parts=parts):
                for part in parts:
                    self._read(reader, part, label)
            case Known() if "literals" not in self._aspects:
                return
            case _:
                self._graph.connect(reader, label, self._value(read))

    # values ---------------------------------------------------------------------------------

    def _value(self, value: Expression, *, is_ordered: bool = False) -> int:
        """Return the node of a value; `is_ordered` if constants tell the items of lists apart."""
        if isinstance(value, Several):
            return self._several(value, is_ordered)
        key = json_text(value.value) if isinstance(value, Known) else value
        if key not in self._shared:
            self._shared[key] = number = self._graph.add(self._label(value))
            self._connect_value(number, value)
        return self._shared[key]

    def _label(self, value: Expression) -> Hashable:
        match value:
            case Known(known):
                return ("known", json_text(known))
            case Given(name):
                return ("parameter", name)
            case Fact(name):
                return ("fact", name)
            case Made(node, path):
                step = self._flow.nodes[node].step
                return ("made", *(output_place(step, path) if self._names(step) is None else ()))
            case Part(Given() | Fact(), path):
                return ("part", *path)
            case _:
                return (type(value).__name__,)

    def _names(self, step: Step) -> frozenset[str] | None:
        """Return the names of a step's outputs that its author chooses, None if there are none."""
        if self._is_of_any_kind(step):
            return (output_names(step) or frozenset()).union(one.name for one in step.outputs)
        return output_names(step)

    def _connect_value(self, number: int, value: Expression) -> None:
        graph = self._graph
        match value:
            case Made(node, path):
                step = self._flow.nodes[node].step
                graph.connect(number, "of", node)
                if (known := self._names(step)) is not None:
                    graph.names[number] = Name("output", node, path, known, maker_of(step))
            case Part(whole, path):
                owner = self._value(whole)
                graph.connect(number, "of", owner)
                if not isinstance(whole, Given | Fact):
                    known = all_names(self._flow.workflow)
                    graph.names[number] = Name("part", owner, path, known)
            case Each(node):
                graph.connect(node, "over", number)
            case Before(node, output, initial):
                graph.connect(number, "in", node)
                made = self._flow.rounds.get(node, {}).get(output)
                for label, one in (("is", made), ("first", initial)):
                    if one is not None:
                        graph.connect(number, label, self._value(one))

    def _several(self, value: Several, is_ordered: bool) -> int:
        graph, tests = self._graph, self._flow.nodes
        parts = value.parts
        node = graph.add((value.how, len(parts)))
        ways = [tests[one.node].test if isinstance(one, Made) else None for one in parts]
        either = value.how == "first_of" and all(
            one and other and not self._ranges.cases(one, other)
            for one, other in combinations(ways, 2)
        )
        for place, part in enumerate(parts):
            there = self._value(part, is_ordered=is_ordered)
            if is_ordered and value.items:
                item, there = there, graph.add(("item",))
                known = frozenset(value.items)
                graph.names[there] = Name("item", node, (value.items[place],), known)
                graph.connect(there, "is", item)
            graph.connect(node, ("part", 0 if either else place), there)
        return node

    def _test(self, owner: int, label: str, test: Test) -> None:
        """Add the cases in which a condition holds, unless it always does."""
        cases = self._ranges.cases(test)
        if cases == frozenset((frozenset(),)):
            return
        node = self._graph.add(("condition", len(cases)))
        self._graph.connect(owner, label, node)
        for case in cases:
            one = self._graph.add(("case",))
            self._graph.connect(node, "case", one)
            for subject, values in case:
                self._compare(one, subject, values)

    def _compare(self, case: int, subject: tuple[Expression, ...], values: frozenset[str]) -> None:
        """Add what holds in a case: the values of one subject, or the order of two."""
        if len(subject) == 1:
            shown = " or ".join(sorted(values))
            self._graph.connect(case, ("is", shown), self._value(subject[0]))
            return
        turned = frozenset(str(-int(sign)) for sign in values)
        order = self._graph.add(("order", *min(sorted(values), sorted(turned))))
        self._graph.connect(case, "has", order)
        sides = subject if sorted(values) <= sorted(turned) else subject[::-1]
        for number, side in enumerate(sides):
            label = "side" if values == turned else ("side", number)
            self._graph.connect(order, label, self._value(side))


def json_form(text: Expression) -> Expression:
    """Return a text that is JSON, with values in it or not, in one form."""
    parts = text.parts if isinstance(text, Several) and text.how == "text" else (text,)
    marks = [f"{10**15 + place}" for place in range(len(parts))]
    written = "".join(
        str(part.value) if isinstance(part, Known) else mark
        for part, mark in zip(parts, marks, strict=True)
    )
    try:
        form = json.dumps(json.loads(written), sort_keys=True)
    except ValueError:
        return text
    pieces = re.split("(" + "|".join(marks) + ")", form)
    return text_of(parts[marks.index(one)] if one in marks else Known(one) for one in pieces)


def _reduced(awaits: list[set[int]]) -> list[set[int]]:
    """Return what each node waits for, less what follows from the rest."""
    graph = Graph({str(place): map(str, nodes) for place, nodes in enumerate(awaits)})
    above = [graph.ancestors(str(place)) for place in range(len(awaits))]
    return [
        {one for one in nodes if not any(str(one) in above[other] for other in nodes)}
        for nodes in awaits
    ]
