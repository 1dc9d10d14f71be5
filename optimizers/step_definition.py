"""What a step does, apart from what it is called and where it stands: to find those that agree."""

from __future__ import annotations

import json
import typing as t

from couler.ir.workflow import Step


def definition(step: Step) -> dict[str, t.Any]:
    """Return a step as JSON without its name, the order of what it waits for, and source lines.

    Those of the steps inside it are left out too. Steps that agree in it differ at most in their
    names and their places in the program.

    Notes
    -----
    Linear in the size of the step, with what is inside it.

    Examples
    --------
    >>> from couler.ir.workflow import Container
    >>> run = Container(image="alpine", command=("true",))
    >>> one = Step(name="one", action=run, depends_on=("a", "b"))
    >>> other = Step(name="other", action=run, depends_on=("b", "a"))
    >>> definition(one) == definition(other)
    True
    """
    tree = step.model_dump(mode="json", exclude_defaults=True)
    del tree["name"]
    tree["depends_on"] = sorted(tree.get("depends_on", ()), key=json.dumps)
    _remove_sources(tree)
    return tree


def _remove_sources(tree: dict[str, t.Any]) -> None:
    tree.pop("source", None)
    for inner in tree["action"].get("steps", ()):
        _remove_sources(inner)
