"""The structure of a flow: a graph with labels in which names of steps do not occur."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Hashable, Iterable
from itertools import combinations

from benchmarks.nl.aspects import (
    OF_SCHEDULES,
    OF_STEPS,
    OF_WORKFLOWS,
    Aspects,
    cron_text,
    kind_of,
)
from benchmarks.nl.expressions import (
    Before,
    Comparison,
    Each,
    Expression,
    Fact,
    Given,
    Known,
    Made,
    Part,
    Several,
    Test,
    is_opposite,
    text_of,
)
from benchmarks.nl.flow import Flow, FlowNode
from benchmarks.nl.known_names import all_names, maker_of, output_names, output_place
from benchmarks.nl.structure import Name, Structure
from couler.ir.base import JsonMap
from couler.ir.workflow import Container, Http, Job, Parameter, Script, Step, Suspend, Workflow

_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash", "python", "python3")


def structure_of(flow: Flow, aspects: Aspects, outputs: Iterable[str]) -> Structure:
    """Return the structure of a flow."""
    return _Writer(flow, aspects).write(outputs)


def parameter_label(parameter: Parameter) -> Hashable:
    """Return what counts of a parameter of the workflow."""
    default = None if parameter.required else json.dumps(_plain(parameter.default))
    return ("parameter", parameter.name, default, parameter.required)


def workflow_facts(workflow: Workflow, aspects: Aspects) -> dict[str, Hashable]:
    """Return what counts of a workflow as a whole, by its name."""
    facts = {name: of(workflow) for name, of in OF_WORKFLOWS.items() if name in aspects}
    schedule = workflow.schedule
    if schedule is None:
        return facts | {"schedule": None}
    facts |= {name: of(schedule) for name, of in OF_SCHEDULES.items() if name in aspects}
    return facts | {"schedule": tuple(sorted(map(cron_text, schedule.cron)))}


class _Writer:
    def __init__(self, flow: Flow, aspects: Aspects) -> None:
        self._flow, self._aspects = flow, aspects
        self._graph = Structure()
        self._shared: dict[Hashable, int] = {}
        self._before = _reduced([node.awaits for node in flow.nodes])

    def write(self, outputs: Iterable[str]) -> Structure:
        graph, flow = self._graph, self._flow
        for node in flow.nodes:
            graph.add(("", *self._facts(node)))
        if "parameters" in self._aspects:
            for parameter in flow.workflow.parameters:
                if parameter.name not in flow.parameters:
                    continue
                label = parameter_label(parameter)
                self._shared["parameter", parameter.name] = graph.add(label)
        facts = workflow_facts(flow.workflow, self._aspects)
        graph.add(("workflow", *sorted(facts.items(), key=lambda fact: fact[0])))
        for number, node in enumerate(flow.nodes):
            self._connect(number, node)
        for name in outputs:
            if name in flow.outputs:
                value = self._value(flow.outputs[name], is_ordered=True)
                graph.connect(graph.add(("output", name)), "gives", value)
        return graph

    # nodes ----------------------------------------------------------------------------------

    def _facts(self, node: FlowNode) -> tuple[Hashable, ...]:
        if node.kind != "step":
            limit = (
                node.step.loop.max_iterations if node.kind == "loop" and node.step.loop else None
            )
            own = self._stated(node) if node.kind != "loop" else ()
            return (node.kind, node.handler, limit, own)
        return (
            kind_of(node.step, self._aspects),
            node.handler,
            *self._action(node),
            self._stated(node),
        )

    def _stated(self, node: FlowNode) -> Hashable:
        """Return what counts of the policies; of maps and groups they are those of the holder."""
        names: Iterable[str] = OF_STEPS
        if node.kind == "map":
            names = ("max_parallel",)
        elif node.kind == "group":
            names = ("retry", "timeout", "max_parallel")
        elif node.step.foreach is not None:
            names = (name for name in OF_STEPS if name != "max_parallel")
        return tuple((name, OF_STEPS[name](node.step)) for name in names if name in self._aspects)

    def _action(self, node: FlowNode) -> tuple[Hashable, ...]:
        action = node.step.action
        match action:
            case Container() | Script() if self._aspects.any_kind:
                return ()
            case Container():
                image = action.image if "images" in self._aspects else None
                return (image, "command" if action.command else "arguments")
            case Script(function=None):
                image = action.image if "images" in self._aspects else None
                return (image,)
            case Http():
                return (action.method, action.success_codes)
            case Suspend():
                return (action.seconds,)
            case Job():
                manifest = _unnamed(action.manifest)
                return (
                    json.dumps(_plain(manifest), sort_keys=True),
                    action.action,
                    action.success_condition,
                    action.failure_condition,
                )
            case Script():
                return ()
            case _:
                return (action.model_dump_json(exclude_defaults=True),)

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
            graph.connect(self._over(number, name), "of", self._value(items))
        if node.test is not None and node.kind == "step":
            graph.connect(number, "if", self._test(node.test))
        if node.again is not None:
            graph.connect(number, "again if", self._test(node.again))
        if node.kind == "step":
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
            varying = self._varying(value)
            if varying is not None:
                argument = self._graph.add(("argument",))
                maker = maker_of(node.step)
                self._graph.names[argument] = Name("argument", number, (name,), known, maker)
                self._graph.connect(number, "is given", argument)
                self._graph.connect(argument, "which is", self._value(varying))

    def _is_of_any_kind(self, step: Step) -> bool:
        return self._aspects.any_kind and isinstance(step.action, Container | Script)

    def _varying(self, value: Expression) -> Expression | None:
        """Return what of an argument is no constant; None if nothing is."""
        if "literals" in self._aspects:
            return value
        match value:
            case Known():
                return None
            case Several(how="text" | "list" as how, parts=parts, items=items):
                found = tuple(one for one in map(self._varying, parts) if one is not None)
                if not found or (how == "text" and len(found) == 1):
                    return found[0] if found else None
                return Several(how, found, items if len(found) == len(parts) else ())
            case _:
                return value

    def _connect_texts(self, number: int, node: FlowNode) -> None:
        """Add what is written in a step's process or request."""
        action, texts = node.step.action, list[tuple[str, Expression]]()
        if isinstance(action, Container) and "commands" in self._aspects:
            words = [text_of((node.resolve(word),)) for word in (*action.command, *action.args)]
            texts = [(f"word {place}", word) for place, word in enumerate(words)]
        elif isinstance(action, Script) and action.function is None and "sources" in self._aspects:
            words = [*map(Known, action.command), Known(action.source)]
            if action.command and action.command[-1] in _SHELLS:
                words.insert(-1, Known("-c"))
            texts = [(f"word {place}", word) for place, word in enumerate(words)]
        elif isinstance(action, Http) and "texts" in self._aspects:
            texts = [("url", node.resolve(action.url))]
            if action.body is not None:
                texts.append(("body", node.resolve(action.body)))
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
        match value:
            case Made(node, path):
                return self._made(node, path)
            case Part(whole, path):
                return self._part(whole, path)
            case Each(node, name):
                return self._over(node, name)
            case Known(known):
                return self._once(("known", json.dumps(_plain(known), sort_keys=True)))
            case Given(name):
                return self._once(("parameter", name))
            case Fact(name):
                return self._once(("fact", name))
            case Before():
                return self._before_of(value)
            case Several():
                return self._several(value, is_ordered)
        t.assert_never(value)

    def _made(self, node: int, path: tuple[str | int, ...]) -> int:
        key = ("made", node, path)
        if key in self._shared:
            return self._shared[key]
        step = self._flow.nodes[node].step
        known = output_names(step)
        if self._is_of_any_kind(step):
            known = frozenset(output.name for output in step.outputs) | (known or frozenset())
        label = ("made", *(output_place(step, path) if known is None else ()))
        made = self._once(label, key=key)
        self._graph.connect(made, "of", node)
        if known is not None:
            self._graph.names[made] = Name("output", node, path, known, maker_of(step))
        return made

    def _part(self, whole: Expression, path: tuple[str | int, ...]) -> int:
        key = ("part", repr(whole), path)
        if key in self._shared:
            return self._shared[key]
        owner = self._value(whole)
        if isinstance(whole, Given | Fact):
            part = self._once(("part", *path), key=key)
        else:
            part = self._once(("part",), key=key)
            known = all_names(self._flow.workflow)
            self._graph.names[part] = Name("part", owner, path, known)
        self._graph.connect(part, "of", owner)
        return part

    def _before_of(self, value: Before) -> int:
        key = ("before", repr(value))
        if key in self._shared:
            return self._shared[key]
        node = self._once(("round before",), key=key)
        self._graph.connect(node, "in", value.node)
        made = self._flow.rounds.get(value.node, {}).get(value.output)
        if made is not None:
            self._graph.connect(node, "is", self._value(made))
        if value.initial is not None:
            self._graph.connect(node, "first", self._value(value.initial))
        return node

    def _several(self, value: Several, is_ordered: bool) -> int:
        graph, tests = self._graph, self._flow.nodes
        parts = value.parts
        node = graph.add((value.how, len(parts)))
        ways = [tests[one.node].test if isinstance(one, Made) else None for one in parts]
        either = value.how == "first_of" and all(
            is_opposite(one, other) for one, other in combinations(ways, 2)
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

    def _over(self, holder: int, name: str) -> int:
        return self._once(("list of a map",), key=("over", holder, name), holder=holder)

    def _once(self, label: Hashable, key: Hashable = None, holder: int | None = None) -> int:
        """Return the one node for a value, which is made where there is none."""
        key = label if key is None else key
        if key not in self._shared:
            self._shared[key] = self._graph.add(label)
            if holder is not None:
                self._graph.connect(holder, "over", self._shared[key])
        return self._shared[key]

    def _test(self, test: Test) -> int:
        if isinstance(test, Comparison):
            node = self._graph.add(("compare", test.op))
            sides = ("side", "side") if test.op in ("==", "!=") else ("left", "right")
            for side, value in zip(sides, (test.left, test.right), strict=True):
                self._graph.connect(node, side, self._value(value))
            return node
        node = self._graph.add((test.how,))
        for part in test.parts:
            self._graph.connect(node, "of", self._test(part))
        return node


def _reduced(awaits: list[set[int]]) -> list[set[int]]:
    """Return what each node waits for, less what follows from the rest."""
    above: dict[int, set[int]] = {}

    def reach(node: int) -> set[int]:
        pending = [node]
        while pending:
            top = pending[-1]
            missing = [one for one in awaits[top] if one not in above]
            if missing:
                pending += missing
                continue
            pending.pop()
            above[top] = set(awaits[top]).union(*(above[one] for one in awaits[top]))
        return above[node]

    for number in range(len(awaits)):
        reach(number)
    return [
        {one for one in nodes if not any(one in above[other] for other in nodes)}
        for nodes in awaits
    ]


def _unnamed(manifest: JsonMap) -> dict[str, t.Any]:
    """Return a resource without what it is called."""
    return {key: value for key, value in manifest.items() if key != "metadata"}


def _plain(value: t.Any) -> t.Any:
    """Return a JSON value with whole numbers that are written as `1.0` as whole numbers."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value.strip() if isinstance(value, str) else value
