"""A run as the cluster had it when it was asked, and where the instances of its steps are."""

from __future__ import annotations

import threading

from couler.backends.argo.observe import Look, Observer
from couler.backends.argo.status_nodes import Node, is_over
from couler.backends.argo.workflow_api import Json
from couler.errors import EngineError
from couler.ir.paths import StepPath
from couler.ir.workflow import Step


class Seen:
    """A Workflow that was seen."""

    def __init__(self, workflow: Json, observer: Observer) -> None:
        self.workflow = workflow
        self.observer = observer
        self._look: Look | None = None
        self._lock = threading.Lock()

    @property
    def is_over(self) -> bool:
        """Whether nothing of it changes any more."""
        return is_over(self.workflow)

    @property
    def look(self) -> Look:
        """What is at each path; looked for once, when it is first needed."""
        with self._lock:
            if self._look is None:
                self._look = self.observer.look(self.workflow)
            return self._look

    def tries(self, path: str) -> int:
        """Return how many tries an instance has had that are known of."""
        node = self.look.nodes.get(path)
        return 0 if node is None else sum(one.has_run for one in self.look.tree.attempts(node))

    def instance(self, path: StepPath) -> tuple[Node, Step]:
        """Return the node of an instance that runs something, and its step as Argo runs it."""
        look, text = self.look, str(path)
        if text in look.nodes:
            return look.nodes[text], look.actions[text]
        seen = look.steps.get(text)
        if seen is None:
            raise EngineError(f"argo: {path} has not begun")
        if seen.status in ("skipped", "omitted"):
            raise EngineError(f"argo: {path} did not run: it was {seen.status}")
        inside = sorted(
            one for one in look.nodes if one.startswith((f"{text}[", f"{text}@", f"{text}/"))
        )
        hint = f", such as {inside[0]}" if inside else ""
        raise EngineError(f"argo: {path} runs nothing itself. Name a step in it{hint}")
