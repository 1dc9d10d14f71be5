"""What earlier sessions of a run have done, and what of it still holds."""

from __future__ import annotations

import typing as t
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from couler.backends.local.cache import references
from couler.backends.local.ends import End
from couler.errors import ArtifactError
from couler.ir.semantics.places import covers
from couler.ir.semantics.values import Outputs, read_outputs
from couler.ir.walk import PathPart, StepPath
from couler.state.records import StepRecord


@dataclass(slots=True)
class Earlier:
    """The records of earlier sessions."""

    records: dict[str, StepRecord]
    has_file: Callable[[str], bool]
    again: tuple[StepPath, ...] = ()

    def __contains__(self, path: object) -> bool:
        return path in self.records

    def find(
        self, path: str, key: str, names: Collection[str], since: int
    ) -> tuple[End, StepRecord] | None:
        """Return the end that was recorded for a path, if it still holds."""
        record = self.records.get(path)
        if record is None or self._objection(record, key, names, since) is not None:
            return None
        return self._end(record, key), record

    def find_lost(
        self, path: str, key: str, names: Collection[str], since: int
    ) -> tuple[End, StepRecord] | None:
        """Return the end that was recorded for a path, if it holds but for files that are gone."""
        record = self.records.get(path)
        if record is None or self._change(record, key, names, since) is not None:
            return None
        if self._has_files(read_outputs(record.outputs)):
            return None
        return self._end(record, key), record

    def _end(self, record: StepRecord, key: str) -> End:
        state: t.Literal["succeeded", "cached"] = (
            "cached" if record.status == "cached" else "succeeded"
        )
        outputs = read_outputs(record.outputs)
        return End(state, outputs, None, record.exit_code, record.attempts, key, record.ordinal)

    def is_asked_for(self, path: str) -> bool:
        """Return whether a path is to run again, whatever became of it."""
        return bool(self.again) and any(covers(one, StepPath.parse(path)) for one in self.again)

    def has_succeeded(self, path: str) -> bool:
        """Return whether a path is recorded as succeeded, whether or not that still holds."""
        return path in self.records and self.records[path].status in _WELL

    def why_not(self, path: str, key: str, names: Collection[str], since: int) -> str | None:
        """Return why a step runs again, in words; None if its end still holds."""
        record = self.records.get(path)
        return "it has not run" if record is None else self._objection(record, key, names, since)

    def forget_inside(self, path: StepPath) -> None:
        """Forget the steps of an earlier attempt of a group."""
        start = f"{path}/"
        for text in [text for text in self.records if text.startswith(start)]:
            del self.records[text]

    def _objection(
        self, record: StepRecord, key: str, names: Collection[str], since: int
    ) -> str | None:
        change = self._change(record, key, names, since)
        if change is None and not self._has_files(read_outputs(record.outputs)):
            return "a file that it made is no longer in the store"
        return change

    def _change(
        self, record: StepRecord, key: str, names: Collection[str], since: int
    ) -> str | None:
        """Return why what is recorded does not hold, whether or not its files are there."""
        if self.is_asked_for(record.path):
            return "it is to run again"
        if record.status not in _WELL:
            return f"it {'failed' if record.status == 'failed' else f'was {record.status}'}"
        if record.key != key:
            return "its code, definition or inputs have changed"
        if record.ordinal < since:
            return "something that it depends on has run after it"
        missing = [name for name in names if name not in record.outputs]
        if missing:
            return f'its output "{missing[0]}" is read now, and was not kept'
        return None

    def _has_files(self, outputs: Outputs) -> bool:
        try:
            return all(map(self.has_file, references(outputs)))
        except ArtifactError:  # a manifest of a directory that is not what it was
            return False


def left_out_items(recorded: Iterable[str], ended: Collection[str]) -> set[str]:
    """Return what is recorded in items that their foreachs do not have any more."""
    having_items = {str(whole) for text in ended for whole, _ in _items_around(text)}
    return {
        text
        for text in recorded
        for whole, item in _items_around(text)
        if str(whole) in having_items and str(whole) in ended and str(item) not in ended
    }


def _items_around(text: str) -> Iterator[tuple[StepPath, StepPath]]:
    """Yield the foreachs around a path, each with the item in it."""
    path = StepPath.parse(text)
    for depth, part in enumerate(path):
        if part.item is not None:
            outer = path[:depth]
            whole = StepPath((*outer, PathPart(part.name)))
            yield whole, StepPath((*outer, PathPart(part.name, part.item)))


_WELL = ("succeeded", "cached")
