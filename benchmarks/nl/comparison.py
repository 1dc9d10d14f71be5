"""Whether two workflows are the same but for names, and in which parts they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import chain, combinations, islice

from benchmarks.nl.aspects import Aspects, aspects_for, normal_form
from benchmarks.nl.conditions import constants
from benchmarks.nl.describe import structure_of
from benchmarks.nl.expressions import Before, Known, Made, inside
from benchmarks.nl.flow import Flow, flow_of
from benchmarks.nl.known_names import maker_of, names_read
from benchmarks.nl.structure import (
    MOST_MAPPINGS,
    Structure,
    colours,
    is_same,
    isomorphism,
    isomorphisms,
    named,
)
from couler.ir.workflow import Workflow

MOST_DIFFERENCES = 5
MAX_TRIES = 100


def differences(
    reference: Workflow, answer: Workflow, aspects: Aspects | None = None
) -> tuple[str, ...]:
    """Return how an answer differs from a reference in more than names; nothing if it does not."""
    aspects = aspects_for(reference) if aspects is None else aspects
    right = flow_of(normal_form(reference), aspects)
    given = flow_of(normal_form(answer), aspects, [one.name for one in reference.parameters])
    nodes = (*right.nodes, *given.nodes)
    found = constants(*(test for node in nodes for test in (node.test, node.again)))
    one = structure_of(right, aspects, right.outputs, found)

    def compared(flow: Flow) -> tuple[str, ...]:
        return _differences(right, flow, one, structure_of(flow, aspects, right.outputs, found))

    whole = compared(given)
    is_less = bool(whole) and any(not compared(flow) for flow in _without_extras(given))
    return () if is_less else whole


def policies(reference: Workflow, answer: Workflow, aspects: Aspects) -> tuple[str, ...]:
    """Return what workflows state that no run shows and that differs.

    Steps that only the answer has may state what steps of their kind state in the reference.
    Chains of steps are as long, or longer by the functions that the answer has more.
    """
    names = [one.name for one in reference.parameters]
    flows = [flow_of(normal_form(one), aspects, names) for one in (reference, answer)]
    graphs = [structure_of(flow, aspects, (), ()) for flow in flows]
    if isomorphism(*graphs) is not None:
        is_alike = isomorphism(*map(_with_facts, graphs)) is not None
        return () if is_alike else _differences(flows[0], flows[1], graphs[0], graphs[1])
    wanted, found = (
        Counter(
            (graph.labels[node], frozenset(facts.items())) for node, facts in graph.facts.items()
        )
        for graph in graphs
    )
    extra = Counter(graphs[1].labels) - Counter(graphs[0].labels)
    surplus = found - wanted
    spare = [one for one in surplus if one not in wanted or surplus[one] > extra[one[0]]]
    told = [
        f"the {which} lacks {_words(label)}: {_words(facts)}"
        for which, lacking in (("answer", wanted - found), ("reference", spare))
        for label, facts in sorted(lacking, key=repr)
        if facts
    ]
    functions = [len({maker_of(node.step) for node in flow.nodes}) for flow in flows]
    more = max(0, functions[1] - functions[0])
    if not flows[0].depth <= flows[1].depth <= flows[0].depth + more:
        told.append(f"{flows[1].depth} steps wait for each other, not {flows[0].depth}")
    return tuple(told[:MOST_DIFFERENCES])


def _without_extras(flow: Flow) -> Iterator[Flow]:
    """Yield an answer's flow without one or two arguments that its functions need not be given."""
    extras = dict.fromkeys(
        (node.step, name)
        for node in flow.nodes
        for name, value in node.arguments.items()
        if node.step.is_function
        and not isinstance(value, Known)
        and (
            not any(isinstance(part, Made | Before) for part in inside(value))
            or name not in names_read(node.step)
        )
    )
    for left in islice(chain(combinations(extras, 1), combinations(extras, 2)), MAX_TRIES):
        nodes = []
        for node in flow.nodes:
            drop = {name for step, name in left if step is node.step}
            rest = {name: value for name, value in node.arguments.items() if name not in drop}
            nodes.append(replace(node, arguments=rest))
        yield replace(flow, nodes=nodes)


def _differences(right: Flow, given: Flow, one: Structure, other: Structure) -> tuple[str, ...]:
    whole = (_with_facts(one), _with_facts(other))
    if isomorphism(*whole) is not None:
        if is_same(*named(*whole)):
            return ()
        return ("an output, a field or an argument stands for another one of the same name",)
    ways = islice(isomorphisms(one, other), MOST_MAPPINGS)
    stated = [tuple(_stated(right, one, other, way)) for way in ways]
    if stated:
        return min(stated, key=len)[:MOST_DIFFERENCES]
    labels = (one.labels, other.labels)
    lacking = [f"the answer lacks {text}" for text in _lacking(right, one, *labels)]
    lacking += [f"the reference lacks {text}" for text in _lacking(given, other, *labels[::-1])]
    unlike = _lacking(right, one, *colours(one, other))
    connected = [f"the answer connects in another way {text}" for text in unlike]
    return tuple((lacking or connected)[:MOST_DIFFERENCES])


def _with_facts(graph: Structure) -> Structure:
    """Return a graph in which what steps state is a part of their labels."""
    labels = list(graph.labels)
    for node, facts in graph.facts.items():
        labels[node] = (labels[node], frozenset(facts.items()))
    return replace(graph, labels=labels)


def _stated(flow: Flow, one: Structure, other: Structure, way: Mapping[int, int]) -> Iterator[str]:
    """Yield what steps state in another way, where one graph is mapped to the other."""
    for node, mine in one.facts.items():
        theirs = other.facts[way[node]]
        names = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
        for name in names:
            if not any(longer.startswith(f"{name}.") for longer in names):
                wanted, found = (_words(facts.get(name)) or "unset" for facts in (mine, theirs))
                where = _text(flow, node, one.labels[node])
                yield f"{where}: {name} should be {wanted}, but is {found}"


def _lacking(
    flow: Flow, graph: Structure, mine: Iterable[Hashable], theirs: Iterable[Hashable]
) -> Iterator[str]:
    """Yield the nodes of a graph that have no like in another."""
    spare = Counter(theirs)
    for node, label in enumerate(mine):
        spare[label] -= 1
        if spare[label] < 0:
            yield _text(flow, node, graph.labels[node])


def _text(flow: Flow, node: int, label: Hashable) -> str:
    return (
        f'"{flow.nodes[node].name}": {_words(label)}' if node < len(flow.nodes) else _words(label)
    )


def _words(label: Hashable) -> str:
    """Return what a label states."""
    if isinstance(label, tuple | frozenset):
        parts = sorted(map(_words, label)) if isinstance(label, frozenset) else map(_words, label)
        return " ".join(filter(None, parts))
    return "" if label is None or label is False else str(label)
