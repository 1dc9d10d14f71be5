"""Whether two workflows are the same but for names, and how they differ, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from functools import cache

from couler.evaluation.aspects import Aspects, aspects_for
from couler.evaluation.describe import parameter_label, structure_of, workflow_facts
from couler.evaluation.flow import Flow, flow_of
from couler.evaluation.naming import is_same, named
from couler.evaluation.structure import Edge, Name, Structure, colours, isomorphism
from couler.evaluation.words import (
    NOTHING,
    connections,
    default_text,
    listed,
    lists,
    longest_chain,
    loop_text,
    step_text,
    test_text,
)
from couler.ir.wording import counted
from couler.ir.workflow import Workflow

MOST_DIFFERENCES = 5


def differences(
    reference: Workflow, answer: Workflow, aspects: Aspects | None = None
) -> tuple[str, ...]:
    """Return how an answer differs from a reference in more than names; nothing if it does not."""
    aspects = aspects_for(reference) if aspects is None else aspects
    bounded = "max_parallel" in aspects
    names = [parameter.name for parameter in reference.parameters]
    right = flow_of(reference, bounded_maps=bounded)
    given = flow_of(answer, known=names, bounded_maps=bounded)
    outputs = list(right.outputs)
    one, other = (structure_of(flow, aspects, outputs) for flow in (right, given))
    if isomorphism(one, other) is None:
        found = tuple(dict.fromkeys(_told(right, given, one, other, aspects)))
    elif not is_same(*named(one, other)):
        found = tuple(dict.fromkeys(_of_names(right, given, one, other)))
    else:
        return ()
    return found[:MOST_DIFFERENCES]


def _told(
    right: Flow, given: Flow, one: Structure, other: Structure, aspects: Aspects
) -> Iterator[str]:
    before = list(_of_workflows(right, given, aspects))
    before += _of_maps(right, given)
    yield from before
    steps = list(_of_steps(right, given, one, other))
    yield from steps
    tests = list(_of_tests(right, given))
    yield from tests
    if steps or tests or before:
        return
    yield from _of_connections(right, given, one, other)


def _of_workflows(right: Flow, given: Flow, aspects: Aspects) -> Iterator[str]:
    facts = [workflow_facts(flow.workflow, aspects) for flow in (right, given)]
    for name, wanted in facts[0].items():
        found = facts[1].get(name)
        if wanted != found:
            yield f"{name}: the reference has {listed(wanted)}, the answer {listed(found)}"
    if "parameters" in aspects:
        ours = {one.name: one for one in given.workflow.parameters}
        for parameter in right.workflow.parameters:
            mine = ours.get(parameter.name)
            if mine is None:
                yield f'the answer has no parameter "{parameter.name}"'
            elif parameter_label(mine) != parameter_label(parameter):
                yield (
                    f'parameter "{parameter.name}": the reference has the default '
                    f"{default_text(parameter)}, the answer {default_text(mine)}"
                )
        for name in sorted(given.parameters - right.parameters):
            yield f'a run of the answer must be given a parameter "{name}", which was not asked for'
    for name in right.outputs:
        if name not in given.outputs:
            yield f'the workflow gives no output "{name}"'


def _of_maps(right: Flow, given: Flow) -> Iterator[str]:
    mine = lists(given.workflow)
    for step, length in lists(right.workflow).items():
        if length in mine.values():
            continue
        like = Counter(lists(given.workflow).values())
        what = (
            "each item of a list that is not known before"
            if length is None
            else f"each of {length} items"
        )
        has = (
            "maps over nothing"
            if not like
            else "maps over "
            + " and ".join("a list that is made" if n is None else f"{n} items" for n in like)
        )
        if length is not None and len(given.nodes) >= len(right.nodes):
            continue
        yield f'the reference runs "{step}" for {what}; the answer {has}'


def _of_steps(right: Flow, given: Flow, one: Structure, other: Structure) -> Iterator[str]:
    wanted = _by_label(right, one)
    found = _by_label(given, other)
    missing = [(label, names[len(found.get(label, ())) :]) for label, names in wanted.items()]
    extra = [(label, names[len(wanted.get(label, ())) :]) for label, names in found.items()]
    lacks = [name for _, names in missing for name in names]
    spare = [name for _, names in extra for name in names]
    if len(right.nodes) != len(given.nodes):
        numbers = [sum(node.kind == "step" for node in flow.nodes) for flow in (right, given)]
        if numbers[0] != numbers[1]:
            yield (
                f"the reference comes to {counted(numbers[0], 'step')}, "
                f"the answer to {numbers[1]} (a map over a short list counts by its items)"
            )
    for number in lacks:
        yield f"the answer lacks {step_text(right, number)}"
    for number in spare:
        yield f"the reference has nothing like {step_text(given, number)} of the answer"


def _by_label(flow: Flow, structure: Structure) -> dict[Hashable, list[int]]:
    """Return the nodes by what they are and by what is written in their processes."""
    written: dict[int, list[tuple[str, Hashable]]] = {}
    for edge in structure.edges:
        if isinstance(edge.label, str) and edge.label.startswith(("word ", "url", "body", "at ")):
            made = edge.target < len(flow.nodes)
            label = "made" if made else structure.labels[edge.target]
            written.setdefault(edge.source, []).append((edge.label, label))
    found: dict[Hashable, list[int]] = {}
    for number in range(len(flow.nodes)):
        words = tuple(sorted(written.get(number, ()), key=repr))
        found.setdefault((structure.labels[number], words), []).append(number)
    return found


def _of_tests(right: Flow, given: Flow) -> Iterator[str]:
    def tests(flow: Flow) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, node in enumerate(flow.nodes):
            if node.kind == "step":
                found.setdefault(test_text(node.test), []).append(number)
        return found

    def loops(flow: Flow) -> Counter[str]:
        return Counter(loop_text(node) for node in flow.nodes if node.kind == "loop")

    wanted, found = tests(right), tests(given)
    for test, nodes in wanted.items():
        if len(found.get(test, ())) < len(nodes) and test:
            others = [other for other in found if other and other not in wanted]
            has = f"; it has: {', '.join(f'if {one}' for one in others)}" if others else ""
            names = right.nodes[nodes[0]].name
            yield (
                f'the reference runs "{names}" only if {test}; the answer has '
                f"{len(found.get(test, ())) or 'no'} such steps{has}"
            )
    for test, nodes in found.items():
        if test and len(nodes) > len(wanted.get(test, ())):
            yield f'only the answer runs "{given.nodes[nodes[0]].name}" if {test}'
    for loop, count in (loops(right) - loops(given)).items():
        yield f"the reference has {counted(count, 'loop')} that {loop}; the answer has not"


def _of_connections(right: Flow, given: Flow, one: Structure, other: Structure) -> Iterator[str]:
    """Tell of nodes that look alike by themselves, but not by what is around them."""
    wanted, found = _connected(right, one), _connected(given, other)
    chains = [longest_chain(flow) for flow in (right, given)]
    if chains[0] != chains[1]:
        yield (
            f"the longest chain of steps that wait for each other is of {chains[0]} in the "
            f"reference, of {chains[1]} in the answer"
        )
    missing, extra = _beyond(wanted, found), _beyond(found, wanted)
    for number in missing:
        alike = [there for there in extra if one.labels[number] == other.labels[there]]
        does = (
            f"the answer's {connections(given, alike[0])}"
            if len(alike) == 1
            else "no such step of the answer does"
        )
        yield f"the reference's {step_text(right, number)} {connections(right, number)}; {does}"
    if missing:
        return
    mine, theirs = colours(one, other)
    alone = [number for number in range(len(right.nodes)) if mine[number] not in set(theirs)]
    alone.sort(key=lambda number: connections(right, number) == NOTHING)
    for number in alone[:1]:
        does = f"{step_text(right, number)} {connections(right, number)}"
        yield f"the reference's {does}; the steps of the answer are connected in another way"
    if not alone:
        yield "what the steps read and wait for is connected in another way"


def _of_names(right: Flow, given: Flow, one: Structure, other: Structure) -> Iterator[str]:
    """Tell of workflows that are the same but for what the names mean that both have."""
    called = named(one, other)
    used: list[dict[Hashable, list[Name]]] = [{}, {}]
    for there, graph, colour in zip(used, called, colours(one, other), strict=True):
        for node, name in graph.names.items():
            key = (name.kind, colour[name.owner], colour[node], graph.labels[node])
            there.setdefault(key, []).append(name)
    for who, flow, (mine, theirs) in (
        ("the reference", right, (used[0], used[1])),
        ("the answer", given, (used[1], used[0])),
    ):
        for place, names in mine.items():
            name = names[0]
            if len(names) > len(theirs.get(place, ())) and name.path:
                path = ".".join(map(str, name.path))
                of = f' of "{flow.nodes[name.owner].name}"' if name.owner < len(flow.nodes) else ""
                yield f'the {name.kind} "{path}"{of} is used in this way by {who} alone'
    yield "an output, a field or an argument stands for another one than that of the same name"


def _beyond(
    ones: dict[tuple[Hashable, Hashable], list[int]],
    others: dict[tuple[Hashable, Hashable], list[int]],
) -> list[int]:
    """Return the nodes that have no counterpart among others."""
    rest = [nodes[len(others.get(like, ())) :] for like, nodes in ones.items()]
    return [number for nodes in rest for number in nodes]


def _connected(flow: Flow, structure: Structure) -> dict[tuple[Hashable, Hashable], list[int]]:
    """Return the nodes by what they are and by what those are that they are connected to."""
    around: dict[int, Counter[Hashable]] = {number: Counter() for number in range(len(flow.nodes))}
    inner: dict[int, list[Edge]] = {}
    for edge in structure.edges:
        inner.setdefault(edge.source, []).append(edge)

    @cache
    def leads_to(node: int) -> Hashable:
        label = structure.labels[node]
        if node < len(flow.nodes):
            return label
        return label, frozenset((one.label, leads_to(one.target)) for one in inner.get(node, ()))

    for edge in structure.edges:
        if edge.source in around:
            around[edge.source][edge.label, leads_to(edge.target)] += 1
    found: dict[tuple[Hashable, Hashable], list[int]] = {}
    for number, seen in around.items():
        key = (structure.labels[number], frozenset(seen.items()))
        found.setdefault(key, []).append(number)
    return found
