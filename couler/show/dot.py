"""A workflow in the language of Graphviz."""

from __future__ import annotations

from collections.abc import Iterator

from couler.ir.workflow import Workflow
from couler.show.scene import Box, Edge, Layer, Scene, scene_of
from couler.show.text import shorten

_SHAPES = {
    "container": 'shape=box, fillcolor="#dbe9f6"',
    "script": 'shape=box, style="rounded,filled", fillcolor="#dff0d8"',
    "job": 'shape=box3d, fillcolor="#f6e3cf"',
    "http": 'shape=parallelogram, fillcolor="#e8dff5"',
    "suspend": 'shape=octagon, fillcolor="#eeeeee"',
    "group": 'shape=folder, fillcolor="#f5f5f5"',
}
_INDENT = "  "


def render_dot(workflow: Workflow) -> str:
    """Return a workflow as a directed graph of Graphviz; groups are clusters."""
    return dot_of(scene_of(workflow))


def dot_of(scene: Scene) -> str:
    """Return a scene as a directed graph of Graphviz."""
    lines = [
        f"digraph {_quote(scene.title)} {{",
        "  rankdir=TB; compound=true; fontname=Helvetica;",
        "  node [fontname=Helvetica, style=filled]; edge [fontname=Helvetica, fontsize=10];",
    ]
    lines.extend(_layer_lines(scene.layer, _INDENT))
    for handler in scene.handlers:
        lines.append(f"  subgraph {_quote(f'cluster_exit:{handler.name}')} {{")
        lines.append(f"    label={_quote(handler.title)}; style=dashed;")
        lines.extend(_layer_lines(handler.layer, _INDENT * 2))
        lines.append("  }")
    return "\n".join([*lines, "}"])


def _layer_lines(layer: Layer, indent: str) -> Iterator[str]:
    boxes = {box.path: box for box in layer.boxes}
    for box in layer.boxes:
        if box.body is None or not box.body.boxes:
            yield f"{indent}{_quote(box.path)} [label={_label(box)}, {_SHAPES[box.kind]}];"
        else:
            yield f"{indent}subgraph {_quote('cluster_' + box.path)} {{"
            yield f"{indent}{_INDENT}label={_label(box)}; style=rounded;"
            yield from _layer_lines(box.body, indent + _INDENT)
            yield f"{indent}}}"
        if box.loop is not None and _is_leaf(box):
            label = _quote(f"while {shorten(box.loop, 60)}, {box.most_rounds}")
            yield f"{indent}{_quote(box.path)} -> {_quote(box.path)} [label={label}];"
    for edge in layer.edges:
        yield indent + _arrow(edge, boxes[edge.source], boxes[edge.target])


def _is_leaf(box: Box) -> bool:
    return box.body is None or not box.body.boxes


def _arrow(edge: Edge, source: Box, target: Box) -> str:
    options = [f"label={_quote(', '.join(edge.words))}"] if edge.words else []
    if edge.condition is not None:
        options.append("style=dashed")
    # Graphviz draws arrows between nodes only; ltail and lhead cut them at a cluster's border.
    if not _is_leaf(source):
        options.append(f"ltail={_quote('cluster_' + source.path)}")
    if not _is_leaf(target):
        options.append(f"lhead={_quote('cluster_' + target.path)}")
    start, end = _last_leaf(source), _first_leaf(target)
    suffix = f" [{', '.join(options)}]" if options else ""
    return f"{_quote(start)} -> {_quote(end)}{suffix};"


def _first_leaf(box: Box) -> str:
    while box.body is not None and box.body.boxes:
        box = box.body.boxes[0]
    return box.path


def _last_leaf(box: Box) -> str:
    while box.body is not None and box.body.boxes:
        box = box.body.boxes[-1]
    return box.path


def _label(box: Box) -> str:
    lines = [box.name, f"{box.kind} {shorten(box.detail, 40)}"]
    if box.foreach is not None:
        lines.append(f"foreach {shorten(box.foreach, 40)}")
    if box.loop is not None and not _is_leaf(box):
        lines.append(f"loop while {shorten(box.loop, 60)}, {box.most_rounds}")
    if box.when is not None and box.free_condition:
        lines.append(f"when {shorten(box.when, 60)}")
    return _quote("\n".join(lines))


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
