"""How many nodes a run adds to the state of a Workflow: what Argo stores besides the object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from couler.backends.argo.pods import Tree

_MORE = frozenset({"withItems", "withSequence", "withParam", "hooks"})
"""What gives a task more nodes than its own and those in its template."""


class NodeCounts:
    """Counts nodes, as far as the templates tell."""

    def __init__(self, templates: Iterable[Tree]) -> None:
        self._templates = {template["name"]: template for template in templates}
        self._known: dict[str, int] = {}

    @classmethod
    def of_run(cls, spec: Tree) -> int:
        """Return the nodes of a run, with those of what it runs at its end."""
        counts = cls(spec.get("templates", ()))
        roots = [spec.get("entrypoint"), spec.get("onExit")]
        roots += [hook.get("template") for hook in spec.get("hooks", {}).values()]
        return sum(1 + counts.of_template(root) for root in roots if root)

    def widest(self) -> tuple[str, int, int] | None:
        """Return a task of the most nodes of all that have items: its name, items and nodes."""
        found = [
            (task["name"], items, self.of_task(task))
            for template in self._templates.values()
            for task in template.get("dag", {}).get("tasks", ())
            if (items := items_of(task)) is not None
        ]
        return max(found, key=lambda one: one[2], default=None)

    def of_task(self, task: Tree) -> int:
        """Return the nodes of a task, with those that its template and hooks make."""
        each = 1 + self.of_template(task.get("template", ""))
        items = items_of(task)
        nodes = each if items is None else 1 + items * each
        for hook in task.get("hooks", {}).values():
            nodes += 1 + self.of_template(hook.get("template", ""))
        return nodes

    def of_template(self, name: str) -> int:
        """Return the nodes that a template makes each time, its own apart."""
        if name not in self._templates:  # of another object
            return 0
        if name not in self._known:
            self._known[name] = 0  # a template that calls itself does so for the next round
            template = self._templates[name]
            tasks = [*template.get("dag", {}).get("tasks", ())]
            tasks += [task for group in template.get("steps", ()) for task in group]
            # There can be thousands of tasks without items, of a few templates.
            plain = Counter([task.get("template", "") for task in tasks if _MORE.isdisjoint(task)])
            nodes = sum(count * (1 + self.of_template(one)) for one, count in plain.items())
            nodes += sum(self.of_task(task) for task in tasks if not _MORE.isdisjoint(task))
            self._known[name] = nodes + ("retryStrategy" in template)
        return self._known[name]


def items_of(task: Tree) -> int | None:
    """Return how many items a task has, one where that is known only in the run; None for none."""
    if "withItems" in task:
        return len(task["withItems"])
    if "withSequence" in task:
        return _length(task["withSequence"])
    return 1 if "withParam" in task else None


def _length(sequence: Tree) -> int:
    try:
        if "count" in sequence:
            return int(sequence["count"])
        return abs(int(sequence["end"]) - int(sequence.get("start", 0))) + 1
    except ValueError:  # an expression
        return 1
