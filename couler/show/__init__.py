"""Pictures of a workflow as text: tree, mermaid, dot, svg, json. None needs another program."""

from couler.show.render import FORMATS, render

__all__ = ["FORMATS", "render"]
