"""What of a run that ended does not keep its end, by the plan of what taking it up would do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from couler.control.past import WELL
from couler.ir import workflow as ir
from couler.ir.evaluation.instances import Instance
from couler.ir.evaluation.places import around, shown_steps
from couler.ir.evaluation.replay import PlannedStep
from couler.ir.paths import HANDLER_PREFIX, StepPath, without_places
from couler.state.records import StepRecord


class Ends:
    """Tells which recorded ends hold."""

    def __init__(
        self,
        workflow: ir.Workflow,
        planned: Iterable[PlannedStep],
        records: Mapping[StepPath, StepRecord],
    ) -> None:
        self._steps = shown_steps(workflow)
        self._planned = {StepPath.parse(step.path): step for step in planned}
        self._records = records
        self.kept = {path for path, step in self._planned.items() if self._keeps(path, step)}
        self._around_planned = set(_all_around(self._planned))
        self._around_kept = set(_all_around(self.kept))
        self._own = set(self._find_open())

    def again(self) -> frozenset[str]:
        """Return the paths of what does not keep its end."""
        found = set(self._own)
        if found:  # the run has another end: handlers that it did not have may run
            handlers = {path for path in self._records if _is_in_handler(path)}
            found |= handlers - self.kept - self._around_kept
        return frozenset(map(str, found))

    def failed_for_nothing(self) -> tuple[StepPath, ...]:
        """Return groups, foreachs and loops that failed though all in them keeps its end."""
        in_doubt = set(_all_around((self._planned.keys() - self.kept) | self._own))
        return tuple(
            path
            for path, record in self._records.items()
            if record.status == "failed"
            and path in self._around_kept
            and path not in in_doubt
            and path not in self._planned
        )

    def _keeps(self, path: StepPath, step: PlannedStep) -> bool:
        if step.verdict in ("reused", "runs"):
            return step.verdict == "reused"
        record = self._records.get(path)
        is_same = record is not None and record.status == step.verdict
        return is_same and not step.is_decided_anew

    def _find_open(self) -> Iterator[StepPath]:
        for path in self._planned:
            # A whole that cannot be evaluated fails as it did: what is in it need not run for that.
            if path not in self.kept and path not in self._around_kept:
                yield path
        for path, record in self._records.items():
            if path not in self._planned and not self._is_settled(path, record):
                yield path

    def _is_settled(self, path: StepPath, record: StepRecord) -> bool:
        """Return whether nothing is to be said of what is recorded and has no plan of its own."""
        if path in self._around_planned or _is_in_handler(path):
            return True
        step = self._steps.get(without_places(path))
        if step is None:
            return False  # what it was in has another end without it
        is_whole = Instance(step, path, ()).is_whole or isinstance(step.action, ir.Group)
        return is_whole and record.status in WELL


def _all_around(paths: Iterable[StepPath]) -> Iterator[StepPath]:
    for path in paths:
        yield from around(path)


def _is_in_handler(path: StepPath) -> bool:
    return path[0].name.startswith(HANDLER_PREFIX)
