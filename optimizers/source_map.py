"""Where the steps of a program are after the passes: the log of these, put in short for a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from couler.ir.semantics.outputs import Instance
from couler.ir.source_map import NO_CHANGE, SourceMap, carry
from couler.ir.walk import HANDLER_PREFIX, PathPart, StepPath, steps_by_path, without_places
from couler.ir.workflow import Group, Step, Workflow
from couler.optimizers.pipeline import PassLog, PassRecord


def make_source_map(source: Workflow, log: PassLog) -> SourceMap:
    """Return where in a run the steps of a program are that have another place there, or none."""
    records = [record for record in log.records if _has_moved(record)]
    if not records:
        return NO_CHANGE
    before, after = _shown(source), _shown(records[-1].after)
    steps: dict[str, tuple[str, ...]] = {}
    removed: dict[str, str] = {}
    places: dict[str, tuple[StepPath, ...]] = {path: (StepPath.parse(path),) for path in before}
    for record in records:
        items = _items(record)
        for path, found in places.items():
            if found:
                places[path] = _follow(found, record, items)
                if not places[path]:
                    removed[before[path]] = _reason(record, found)
    for path, found in places.items():
        if not found:
            continue
        there = tuple(dict.fromkeys(filter(None, (_as_shown(place, after) for place in found))))
        inmost = tuple(
            str(one)
            for one in there
            if not any(len(other) > len(one) and other[: len(one)] == one for other in there)
        )
        if inmost and inmost != (before[path],):
            steps[before[path]] = inmost
    return SourceMap(steps, removed)


def _has_moved(record: PassRecord) -> bool:
    if record.after is record.before:
        return False
    return bool(record.derived) or _paths(record.before) != _paths(record.after)


def _paths(workflow: Workflow) -> list[str]:
    return [path for path, _ in steps_by_path(workflow)]


def _items(record: PassRecord) -> dict[str, dict[str, int]]:
    """Return for each foreach that was made of steps the number of the item of each of them."""
    return {
        path: {source: number for number, source in enumerate(record.derived[path])}
        for path in record.item_steps
    }


def _follow(
    places: Iterable[StepPath], record: PassRecord, items: Mapping[str, Mapping[str, int]]
) -> tuple[StepPath, ...]:
    """Return what became of places."""
    found: list[StepPath] = []
    for place in places:
        step = without_places(place)
        for result in record.results.get(str(step), ()):
            to = StepPath.parse(result)
            if result in items:
                to = to.at_item(items[result][str(step)])
            # Where an item has no room, the whole is what is known.
            found.append(carry(place, step, to) or to)
    return tuple(dict.fromkeys(found))


def _reason(record: PassRecord, places: Iterable[StepPath]) -> str:
    told = (record.step_reasons.get(str(without_places(place)), "") for place in places)
    why = next(filter(None, told), record.reason)
    left = f"the pass {record.name} left it out"
    return f"{left}: {why}" if why else left


def _shown(workflow: Workflow) -> dict[str, str]:
    """Return the paths of all steps, each with the one that status and logs show."""
    found: dict[str, str] = {}
    _add_below(workflow.steps, "", "", found)
    for handler in workflow.exit_handlers:
        prefix = f"{HANDLER_PREFIX}{handler.name}/"
        _add_below(handler.steps, prefix, prefix, found)
    return found


def _add_below(steps: Iterable[Step], full: str, shown: str, found: dict[str, str]) -> None:
    for step in steps:
        inside = shown
        if Instance(step, StepPath(), ()).is_shown:
            found[full + step.name] = shown + step.name
            inside = f"{shown}{step.name}/"
        if isinstance(step.action, Group):
            _add_below(step.action.steps, f"{full}{step.name}/", inside, found)


def _as_shown(place: StepPath, shown: Mapping[str, str]) -> StepPath | None:
    """Return a place as status shows it; None for a group that has none there."""
    parts: list[PathPart] = []
    for depth in range(len(place)):
        step = str(without_places(StepPath(place[: depth + 1])))
        if step in shown or (depth == 0 and step.startswith(HANDLER_PREFIX)):
            parts.append(place[depth])
        elif depth == len(place) - 1:
            return None
    return StepPath(parts)
