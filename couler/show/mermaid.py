"""A workflow as a mermaid flowchart, which Markdown viewers draw."""

from __future__ import annotations

from collections.abc import Iterator

from couler.ir.semantics.wire import dump_json
from couler.ir.workflow import Workflow
from couler.show.scene import Box, Edge, Layer, Scene, scene_of
from couler.show.text import shorten

_SHAPES = {
    "container": ("[", "]"),
    "script": ("(", ")"),
    "job": ("[[", "]]"),
    "http": ("[/", "/]"),
    "suspend": ("([", "])"),
}
_INDENT = "  "


def render_mermaid(workflow: Workflow) -> str:
    """Return a workflow as a mermaid flowchart."""
    return mermaid_of(scene_of(workflow))


def mermaid_of(scene: Scene) -> str:
    """Return a scene as a mermaid flowchart."""
    ids: dict[str, str] = {}
    lines = ["---", f"title: {dump_json(scene.title)}", "---", "flowchart TD"]
    lines.extend(_layer_lines(scene.layer, ids, _INDENT))
    for number, handler in enumerate(scene.handlers):
        lines.append(f"{_INDENT}subgraph exit{number}[{_quote(handler.title)}]")
        lines.extend(_layer_lines(handler.layer, ids, _INDENT * 2))
        lines.append(f"{_INDENT}end")
    return "\n".join(lines)


def _layer_lines(layer: Layer, ids: dict[str, str], indent: str) -> Iterator[str]:
    for box in layer.boxes:
        name = ids[box.path] = f"s{len(ids)}"
        if box.body is None or not box.body.boxes:
            opening, closing = _SHAPES.get(box.kind, ("[", "]"))
            yield f"{indent}{name}{opening}{_quote(*_label_lines(box))}{closing}"
        else:
            yield f"{indent}subgraph {name}[{_quote(', '.join(_label_lines(box)))}]"
            yield from _layer_lines(box.body, ids, indent + _INDENT)
            yield f"{indent}end"
    for edge in layer.edges:
        yield f"{indent}{ids[edge.source]} {_arrow(edge)} {ids[edge.target]}"


def _label_lines(box: Box) -> list[str]:
    """Return the lines of a box; for a subgraph, whose title must fit on one line, its parts."""
    lines = [box.name]
    if box.body is None:
        lines.append(f"{box.kind} {shorten(box.detail, 40)}")
    if box.foreach is not None:
        lines.append(f"foreach {shorten(box.foreach, 40)}")
    if box.loop is not None:
        lines.append(f"loop while {shorten(box.loop, 60)}, {box.most_rounds}")
    if box.when is not None and box.free_condition:
        lines.append(f"when {shorten(box.when, 60)}")
    return lines


def _arrow(edge: Edge) -> str:
    line = "-.->" if edge.condition is not None else "-->"
    return f"{line}|{_quote(', '.join(edge.words))}|" if edge.words else line


def _quote(*lines: str) -> str:
    """Return a mermaid string: entity codes for all that mermaid, Markdown or HTML would read."""
    return '"' + "<br/>".join("".join(map(_escape, line)) for line in lines) + '"'


def _escape(character: str) -> str:
    plain = character.isalnum() or character in " -./:,=()!?_@+%'" or ord(character) > 127
    return character if plain and character.isprintable() else f"#{ord(character)};"
