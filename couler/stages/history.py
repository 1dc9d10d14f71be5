"""What earlier runs tell of steps and of what they compute, for the passes."""

from __future__ import annotations

import typing as t
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

from couler.errors import ArtifactError, SerializationError
from couler.ir.policies import Profile
from couler.ir.values import is_file
from couler.optimizers.base import Measured, Timed, Timings

# A program that only compiles loads no database: what needs one is imported where it is called.
if t.TYPE_CHECKING:
    from couler.ir.semantics.values import Single
    from couler.state.database import Database
    from couler.state.history import Instance
    from couler.state.home import Home
    from couler.store import ObjectStore


@dataclass(frozen=True, slots=True)
class EarlierRuns:
    """What is asked of earlier runs.

    Attributes
    ----------
    profiles
        Gives what the steps of a workflow took, by the name of the workflow and of an engine.
    timings
        Gives how long what steps compute took, whatever the workflow.
    """

    profiles: Callable[[str, str | None], Mapping[str, Profile]]
    timings: Timings


_LATEST = 10
"""So many times of an instance count."""

_SIZED = 10
"""Of how many instances the bytes are looked up: a store elsewhere is asked for each."""


_RUNS = 100
"""So many runs of workflows that state operations tell of speeds, the latest."""

_MOST = 20_000
"""So many attempts of these are looked at."""


def earlier_runs(database: Database, home: Home) -> EarlierRuns:
    """Return what tells what steps took in earlier runs.

    Parameters
    ----------
    database, home
        Where the runs are recorded, and the files of those of this machine are kept.

    Notes
    -----
    Figures are medians over the latest 10 times that each instance of a step ran and succeeded.
    Seconds are those of runs on the engine that is asked for, and only where there are none those
    on others. Bytes are known of values, and of the files of this machine's store that are still
    there; engines elsewhere do not tell how large files are.

    Of what steps compute the latest 100 runs of workflows that state operations tell, with the
    latest 10 times that a step of one ran on one machine.
    """

    def profiles(workflow: str, engine: str | None) -> Mapping[str, Profile]:
        from couler.state.history import list_instances
        from couler.store import ObjectStore

        store = ObjectStore(home.store_url, read_only=True)
        by_place = _by_place(database, list_instances(database, workflow, latest=_LATEST))
        return {place: _profile(ran, engine, store) for place, ran in by_place.items()}

    return EarlierRuns(profiles, partial(_timings, database))


def _timings(database: Database) -> list[Timed]:
    """Return how long what steps compute took, of those that say what that is."""
    from couler.ir.walk import StepPath, without_places
    from couler.state.history import list_tries, workflows_of

    tries = list_tries(database, runs_at_most=_RUNS, latest=_LATEST, at_most=_MOST)
    known = {
        digest: _computing(text)
        for digest, text in workflows_of(database, {one.workflow_digest for one in tries}).items()
    }
    found = []
    for one in tries:
        place = str(without_places(StepPath.parse(one.path)))
        step = known.get(one.workflow_digest, {}).get(place)
        if step is not None and (one.is_here or step.placement is not None):
            made = step._replace(seconds=one.seconds, node=one.node)
            found.append(made._replace(placement=None) if one.is_here else made)
    return found


def _computing(text: str) -> dict[str, Timed]:
    """Return the steps of a workflow that say what they compute, by their paths."""
    from couler.ir.serialize import read_json
    from couler.ir.walk import steps_by_path
    from couler.optimizers.placement.pod_needs import effective_placement, needs_of, runs_in_a_pod

    try:
        workflow = read_json(text)
    except SerializationError:  # another version wrote it
        return {}
    return {
        path: Timed(
            model=step.profile.model,
            operations=step.profile.operations,
            seconds=0.0,
            node=None,
            placement=effective_placement(step, workflow.pod) if runs_in_a_pod(step) else None,
            has_gpus=needs_of(step, workflow.pod).gpus > 0,
        )
        for path, step in steps_by_path(workflow)
        if step.profile is not None and step.profile.model and step.profile.operations
    }


def _by_place(database: Database, instances: Sequence[Instance]) -> dict[str, list[Instance]]:
    """Sort instances by where their steps are, in the program and in what passes made of it."""
    from couler.ir.walk import StepPath, without_places
    from couler.state.source_maps import source_map_of

    maps = {run_id: source_map_of(database, run_id) for run_id in {one.run_id for one in instances}}
    found: dict[str, list[Instance]] = defaultdict(list)
    for one in instances:
        path = StepPath.parse(one.path)
        sources = map(StepPath.parse, maps[one.run_id].sources(path))
        for place in {str(without_places(each)) for each in (path, *sources)}:
            found[place].append(one)
    return found


def _profile(ran: Sequence[Instance], engine: str | None, store: ObjectStore) -> Measured:
    import statistics

    timed = [one.seconds for one in ran if one.engine == engine] or [one.seconds for one in ran]
    known = islice((size for one in ran if (size := _bytes(one, store)) is not None), _SIZED)
    sizes = [*known]
    return Measured(
        runs=len(timed),
        seconds=statistics.median(timed),
        output_bytes=round(statistics.median(sizes)) if sizes else None,
    )


def _bytes(instance: Instance, store: ObjectStore) -> int | None:
    """Return what the outputs of an instance take; None if that is not known any more."""
    from couler.ir.semantics.values import read_outputs, singles

    try:
        outputs = read_outputs(instance.outputs)
    except ValueError:  # another version wrote them
        return None
    sizes = [_size(one, instance.is_here, store) for one in singles(outputs)]
    return None if None in sizes else sum(size or 0 for size in sizes)


def _size(one: Single, is_here: bool, store: ObjectStore) -> int | None:
    from couler.store import is_reference

    if not is_file(one.type):
        return len(one.text.encode())
    if not is_here or not is_reference(one.text):
        return None
    try:
        return store.size(one.text)
    except ArtifactError:  # it was collected
        return None
