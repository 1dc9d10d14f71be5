"""Pictures of a workflow as text: tree, mermaid, dot, svg, json. None needs another program."""

from couler.show.render import FORMATS as FORMATS
from couler.show.render import render as render

__all__ = ["FORMATS", "render"]
