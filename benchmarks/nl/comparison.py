"""Whether two workflows are the same but for names, and in which parts they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator

from benchmarks.nl.aspects import Aspects, aspects_for
from benchmarks.nl.describe import structure_of
from benchmarks.nl.flow import Flow, flow_of
from benchmarks.nl.naming import is_same, named
from benchmarks.nl.structure import Structure, colours, isomorphism
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
        found = [*_lacking("answer", right, one, other), *_lacking("reference", given, other, one)]
        return tuple(found[:MOST_DIFFERENCES]) or (_connected(right, one, other),)
    if not is_same(*named(one, other)):
        return ("an output, a field or an argument stands for another one of the same name",)
    return ()


def _lacking(what: str, flow: Flow, one: Structure, other: Structure) -> Iterator[str]:
    """Yield the nodes of a graph that have no like in another, by what they are themselves."""
    spare = Counter(other.labels)
    for node, label in enumerate(one.labels):
        if spare[label]:
            spare[label] -= 1
        else:
            yield f"the {what} lacks {_text(flow, node, label)}"


def _connected(flow: Flow, one: Structure, other: Structure) -> str:
    """Return the first node that is connected in another way."""
    mine, theirs = colours(one, other)
    nodes = (node for node, colour in enumerate(mine) if colour not in theirs)
    places = [_text(flow, node, one.labels[node]) for node in nodes if node < len(flow.nodes)]
    return f"the answer connects in another way {places[0] if places else 'what steps read'}"


def _text(flow: Flow, node: int, label: Hashable) -> str:
    return (
        f'"{flow.nodes[node].name}": {_words(label)}' if node < len(flow.nodes) else _words(label)
    )


def _words(label: Hashable) -> str:
    """Return what a label states."""
    if isinstance(label, tuple | frozenset):
        parts = sorted(map(_words, label)) if isinstance(label, frozenset) else map(_words, label)
        is_unstated = len(label) == 2 and isinstance(label, tuple) and label[1] is None
        return "" if is_unstated else " ".join(filter(None, parts))
    return "" if label is None else str(label)
