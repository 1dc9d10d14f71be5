"""What a step does, apart from what it is called and where it stands: to find those that agree."""

from __future__ import annotations

import json
import typing as t

from couler.ir.workflow import Step


def definition(step: Step) -> dict[str, t.Any]:
    """Return a step as JSON without its name, the order of what it waits for, and source lines."""
    tree = step.model_dump(mode="json", exclude_defaults=True)
    del tree["name"]
    tree["depends_on"] = sorted(tree.get("depends_on", ()), key=json.dumps)
    _remove_sources(tree)
    return tree


def _remove_sources(tree: dict[str, t.Any]) -> None:
    tree.pop("source", None)
    for inner in tree["action"].get("steps", ()):
        _remove_sources(inner)
