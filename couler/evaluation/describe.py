"""The structure of a flow: a graph with labels in which names of steps do not occur."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Hashable, Iterable

from couler.evaluation.aspects import (
    OF_SCHEDULES,
    OF_STEPS,
    OF_WORKFLOWS,
    Aspects,
    cron_text,
    kind_of,
)
from couler.evaluation.expressions import (
    Before,
    Comparison,
    Each,
    Expression,
    Fact,
    Given,
    Known,
    Made,
    Several,
    Test,
    inside,
    text_of,
)
from couler.evaluation.flow import Flow, FlowNode
from couler.evaluation.structure import Structure
from couler.ir.base import JsonMap
from couler.ir.workflow import Container, Http, Job, Parameter, Script, Suspend, Workflow

_SHELLS = ("sh", "bash", "/bin/sh", "/bin/bash", "python", "python3")


def structure_of(flow: Flow, aspects: Aspects, outputs: Iterable[str]) -> Structure:
    """Return the structure of a flow.

    Parameters
    ----------
    flow
        A workflow with n steps, m things that they read and e edges of order.
    aspects
        What counts of it.
    outputs
        The outputs of the workflow that count.

    Notes
    -----
    Nodes 0 to n - 1 are those of the flow. Steps that follow from others (a waits for b, b for c)
    are no edges of their own; what a step reads of another always is one. O(n e) for these.
    """
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
                self._read(graph.add(("output", name)), flow.outputs[name], "gives")
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
                for read in node.reads:
                    self._read(number, read, "reads")

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
            self._graph.connect(number, place, self._value(text))

    def _read(self, reader: int, read: Expression, label: str) -> None:
        for part in inside(read):
            match part:
                case Made(node):
                    self._graph.connect(reader, label, node)
                case Before(node, output):
                    made = self._flow.rounds.get(node, {}).get(output)
                    for there in () if made is None else self._flow.made_in(made):
                        self._graph.connect(reader, f"{label} of the round before", there)
                case Given() | Each() | Fact():
                    self._graph.connect(reader, label, self._value(part))
                case Known(value) if "literals" in self._aspects:
                    self._graph.connect(reader, label, self._value(Known(value)))
                case _:
                    continue

    # values ---------------------------------------------------------------------------------

    def _value(self, value: Expression) -> int:
        graph = self._graph
        match value:
            case Made(node):
                return node
            case Each(node, name):
                return self._over(node, name)
            case Known(known):
                return self._once(("known", json.dumps(_plain(known), sort_keys=True)))
            case Given(name):
                return self._once(("parameter", name))
            case Fact(name):
                return self._once(("fact", name))
            case Before():
                node = graph.add(("round before",))
                self._read(node, value, "is")
                return node
            case Several(how, parts):
                node = graph.add((how, len(parts)))
                for place, part in enumerate(parts):
                    label = ("part", 0 if how == "first_of" else place)
                    graph.connect(node, label, self._value(part))
                return node
        t.assert_never(value)

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
