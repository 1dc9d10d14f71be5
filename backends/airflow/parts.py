"""Parts of the workflow's own steps as groups that Airflow shows: they change the id of no task."""

from __future__ import annotations

import heapq
import typing as t
from collections.abc import Iterator, Mapping, Sequence

from couler.backends.airflow.places import exit_groups, free, ids_beside, own_name
from couler.ir.policies import Part
from couler.ir.walk import predecessors
from couler.ir.workflow import Step, Workflow

Kind: t.TypeAlias = t.Literal["run", "group"]
_Key: t.TypeAlias = tuple[Kind, str]
_Path: t.TypeAlias = tuple[_Key, ...]
_Block: t.TypeAlias = _Key | str
"""A part, or the name of a step that stands by itself."""
PartIds: t.TypeAlias = Mapping[_Key, str]

OF_RUN = (
    "run-parameters",
    "run-status",
    "run-outputs",
    "check-outputs",
    "may-start",
    "remove-resources",
)
"""Tasks that stand beside all steps, which have a `_` behind their names where a step has it."""
_OF_OBJECTS = ("make-claims", "delete-claims", "make-budget", "delete-budget")
"""Tasks beside all steps that always have these names."""


class Laid(t.NamedTuple):
    """A step, and where it stands among the parts."""

    step: Step
    opens: tuple[str, ...]
    """The ids of the groups that begin with it, the outer one first."""
    depth: int
    """In how many groups it stands, with those."""


def part_ids(workflow: Workflow) -> PartIds:
    """The ids of the groups of the parts of a workflow's own steps; no other node has them."""
    parts = [step.part for step in workflow.steps if step.part is not None]
    if not parts:
        return {}
    taken = ids_beside(workflow.steps) | set(exit_groups(workflow).values())
    taken.update(_OF_OBJECTS)
    taken.update(own_name(name, workflow) for name in OF_RUN)
    ids: dict[_Key, str] = {}
    for part in parts:
        for key in _path(part):
            if key not in ids:
                ids[key] = free(_shown(*key), taken)
                taken.add(ids[key])
    return ids


def _shown(kind: Kind, name: str) -> str:
    """Return a name as people read it: those that the pass `split` gives are numbers."""
    return f"{_WORDS[kind]}-{name}" if name.isdigit() else name


_WORDS: Mapping[Kind, str] = {"run": "run", "group": "part"}


def laid_out(steps: Sequence[Step], ids: PartIds) -> Iterator[Laid]:
    """Yield the steps of a scope, those of one part one after another."""
    if not ids:
        yield from (Laid(step, (), 0) for step in steps)
        return
    waits = {step.name: predecessors(step) for step in steps}
    inside: tuple[str, ...] = ()
    for step, path in _in_order([(step, _path(step.part)) for step in steps], waits, 0):
        now = tuple(ids[key] for key in path)
        same = 0
        while same < min(len(now), len(inside)) and now[same] == inside[same]:
            same += 1
        yield Laid(step, now[same:], len(now))
        inside = now


def _path(part: Part | None) -> _Path:
    """Return the parts around a step, the outer one first."""
    if part is None:
        return ()
    given: tuple[tuple[Kind, str | None], ...] = (("run", part.run), ("group", part.group))
    return tuple((kind, name) for kind, name in given if name is not None)


def _in_order(
    steps: Sequence[tuple[Step, _Path]], waits: Mapping[str, tuple[str, ...]], depth: int
) -> Iterator[tuple[Step, _Path]]:
    """Yield steps so that those of a part at this depth stand together, and inside of it again."""
    blocks: dict[_Block, list[tuple[Step, _Path]]] = {}
    block_of: dict[str, _Block] = {}
    for step, path in steps:
        key = path[depth] if len(path) > depth else step.name
        block_of[step.name] = key
        blocks.setdefault(key, []).append((step, path))
    for key in _sorted(blocks, block_of, waits):
        block = blocks[key]
        if len(block[0][1]) > depth:
            yield from _in_order(block, waits, depth + 1)
        else:
            yield from block


def _sorted(
    blocks: Mapping[_Block, Sequence[tuple[Step, _Path]]],
    block_of: Mapping[str, _Block],
    waits: Mapping[str, tuple[str, ...]],
) -> list[_Block]:
    """Return the blocks, each behind those that it waits for, else in the order of their first."""
    rank = {key: number for number, key in enumerate(blocks)}
    before: dict[_Block, set[_Block]] = {
        key: {block_of[name] for step, _ in block for name in waits[step.name] if name in block_of}
        - {key}
        for key, block in blocks.items()
    }
    after: dict[_Block, list[_Block]] = {key: [] for key in blocks}
    for key, found in before.items():
        for one in found:
            after[one].append(key)
    count = {key: len(found) for key, found in before.items()}
    ready = [(rank[key], key) for key in blocks if not count[key]]
    order: dict[_Block, None] = {}
    while ready:
        _, key = heapq.heappop(ready)
        order[key] = None
        for one in after[key]:
            count[one] -= 1
            if not count[one]:
                heapq.heappush(ready, (rank[one], one))
    return [*order, *(key for key in blocks if key not in order)]
