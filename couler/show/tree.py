"""A workflow as an indented list: one line for a step, with what runs it and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from couler.ir.workflow import Workflow
from couler.show.scene import Box, Edge, Layer, scene_of
from couler.show.text import shorten


def render_tree(workflow: Workflow) -> str:
    """Return a workflow as an indented list."""
    scene = scene_of(workflow)
    parameters = f"({', '.join(scene.parameters)})" if scene.parameters else ""
    blocks = _blocks(scene.layer)
    for handler in scene.handlers:
        blocks.append([handler.title, *_indent(_blocks(handler.layer))])
    return "\n".join([scene.title + parameters, *_indent(blocks)])


def _blocks(layer: Layer) -> list[list[str]]:
    incoming: dict[str, list[Edge]] = {}
    for edge in layer.edges:
        incoming.setdefault(edge.target, []).append(edge)
    return [_block(box, incoming.get(box.path, [])) for box in layer.boxes]


def _block(box: Box, incoming: Sequence[Edge]) -> list[str]:
    parts = [box.name, f" {box.kind} {shorten(box.detail, 60)}"]
    if box.foreach is not None:
        parts.append(f" foreach {shorten(box.foreach, 60)}")
    if box.loop is not None:
        parts.append(f" loop while {shorten(box.loop, 80)}, {box.most_rounds}")
    if box.when is not None:
        parts.append(f" when {shorten(box.when, 80)}")
    if incoming:
        parts.append(f" <- {_waits(incoming)}")
    inner = [] if box.body is None else _blocks(box.body)
    return [" ".join(parts), *_indent(inner)]


def _waits(edges: Sequence[Edge]) -> str:
    needed = [_source(edge) for edge in edges if not edge.one_of]
    options = " | ".join(_source(edge) for edge in edges if edge.one_of)
    return ", ".join([*needed, options] if options else needed)


def _source(edge: Edge) -> str:
    name = edge.source.rpartition("/")[2]
    return name + {"failure": "!", "completion": "."}.get(edge.on, "")


def _indent(blocks: Sequence[Sequence[str]]) -> Iterator[str]:
    for number, block in enumerate(blocks, start=1):
        last = number == len(blocks)
        yield ("└─ " if last else "├─ ") + block[0]
        for line in block[1:]:
            yield ("   " if last else "│  ") + line
