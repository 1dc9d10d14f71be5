"""The passes that are installed, as `couler plan` finds them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from couler.optimizers.pipeline import GROUP
from couler.plugins import find_plugins

GOLDENS = Path(__file__).parents[1] / "golden" / "passes"
HOME = "couler.optimizers.passes."


def installed_passes() -> list[str]:
    """Return their names, without those that this checkout does not have (yet, or any more)."""
    return sorted(
        name
        for name, entry in find_plugins(GROUP).items()
        if not entry.module.startswith(HOME) or importlib.util.find_spec(entry.module) is not None
    )


def own_passes() -> list[str]:
    """Return the names of those that come with Couler."""
    plugins = find_plugins(GROUP)
    return [name for name in installed_passes() if plugins[name].module.startswith(HOME)]


def pass_of_golden(name: str) -> str:
    """Return how the golden of a pass calls it, with the options that it shows."""
    with (GOLDENS / f"{name}.md").open(encoding="utf-8") as lines:
        return lines.readline().removeprefix("# ").rstrip("\n")
