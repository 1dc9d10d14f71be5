"""Parts of scopes: which template holds which steps of a divided scope."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence

from couler.backends.argo.names import Names, legal
from couler.backends.argo.pods import Tree
from couler.ir.workflow import Step, Workflow

PART_TEMPLATE = "couler-part-"
"""How the name of the template of a part begins."""

ENDS_TEMPLATE = "couler-ends"
VERDICT_TEMPLATE = "couler-verdict"
FAILS_TEMPLATE = "couler-fails"
HELPER_TEMPLATES = frozenset((ENDS_TEMPLATE, VERDICT_TEMPLATE, FAILS_TEMPLATE))
"""Templates of tasks that run nothing; no step has such a name, as they begin with `couler-`."""

Kind: t.TypeAlias = t.Literal["run", "group"]


def ends_template() -> Tree:
    """Return the template of a task that runs nothing and ends well."""
    never = {"name": "none", "template": ENDS_TEMPLATE, "when": "false"}
    return {"name": ENDS_TEMPLATE, "dag": {"tasks": [never]}}


class PartOf(t.NamedTuple):
    """A part: its task, and how its steps are divided again."""

    kind: Kind
    name: str
    task: str
    inside: Division

    @property
    def template(self) -> str:
        """The name that its template wants."""
        return PART_TEMPLATE + self.name


class Division(t.NamedTuple):
    """The steps that one template holds: some by themselves, others in parts."""

    steps: tuple[Step, ...]
    loose: tuple[Step, ...]
    parts: tuple[PartOf, ...] = ()


def is_divided(steps: Sequence[Step]) -> bool:
    """Return whether some steps of a scope are in parts."""
    return any(step.part is not None and _outer(step) is not None for step in steps)


def task_names(steps: Sequence[Step]) -> tuple[dict[str, str], Names]:
    """Return the name of the task of each step, and the names that are taken in the scope."""
    names = Names()
    return {step.name: names.take(step.name) for step in steps}, names


def divide(steps: Sequence[Step], names: Names) -> Division:
    """Return how a scope is divided, in time linear in its steps."""
    return _divide(tuple(steps), names, _outer)


_Key: t.TypeAlias = tuple[Kind, str]


def _outer(step: Step) -> _Key | None:
    part = step.part
    if part is None:
        return None
    return ("run", part.run) if part.run is not None else _inner(step)


def _inner(step: Step) -> _Key | None:
    part = step.part
    return None if part is None or part.group is None else ("group", part.group)


_BELOW: Mapping[Kind, t.Callable[[Step], _Key | None]] = {"run": _inner, "group": lambda step: None}


def _divide(
    steps: tuple[Step, ...], names: Names, key_of: t.Callable[[Step], _Key | None]
) -> Division:
    loose: list[Step] = []
    members: dict[_Key, list[Step]] = {}
    for step in steps:
        key = key_of(step)
        if key is None:
            loose.append(step)
        else:
            members.setdefault(key, []).append(step)
    parts: list[PartOf] = []
    for (kind, name), inside in members.items():
        task = names.take(f"p{name}" if name[0].isdigit() else f"p-{legal(name)}")
        parts.append(PartOf(kind, name, task, _divide(tuple(inside), names, _BELOW[kind])))
    return Division(steps, tuple(loose), tuple(parts))


def has_runs(workflow: Workflow) -> bool:
    """Return whether parts of a workflow have runs of their own."""
    return any(step.part is not None and step.part.run is not None for step in workflow.steps)
