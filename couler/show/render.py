"""The list of pictures, and the choice among them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean
from couler.ir.workflow import Workflow

# Each is loaded when it is asked for, so that a tree does not load the layout of the svg.
_RENDERERS = {
    "tree": "couler.show.tree:render_tree",
    "mermaid": "couler.show.mermaid:render_mermaid",
    "dot": "couler.show.dot:render_dot",
    "svg": "couler.show.svg:render_svg",
    "json": "couler.show.scene:render_json",
    "ir": "couler.ir.serialize:write_json",
}

FORMATS = tuple(_RENDERERS)
"""Names of the pictures; `ir` is the workflow itself as JSON."""


def render(workflow: Workflow, as_: str = "tree") -> str:
    """Return a picture of a workflow; the same text for the same workflow."""
    if as_ not in _RENDERERS:
        raise EngineOptionError(
            f'there is no picture "{as_}"; there are: {", ".join(FORMATS)}.'
            f"{did_you_mean(as_, FORMATS)}"
        )
    module, _, name = _RENDERERS[as_].partition(":")
    renderer: Callable[[Workflow], str] = getattr(import_module(module), name)
    return renderer(workflow).rstrip("\n")
