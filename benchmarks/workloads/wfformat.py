"""Workflows in WfFormat 1.5, the JSON form of WfCommons: what ran, how long, and with which files.

Read are `workflow.specification.tasks` (id, parents, children, inputFiles, outputFiles),
`workflow.specification.files` (id, sizeInBytes) and `workflow.execution.tasks` (id,
runtimeInSeconds, coreCount). In a `TaskGraph` a file that several tasks read counts on the edge to
each of them, in an `ArtifactGraph` it is one artifact.
"""

from __future__ import annotations

import gzip
import json
import operator
import typing as t
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from couler.caching.graph import ArtifactGraph
from couler.optimizers.partitioning import TaskGraph

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "wfinstances"
"""Where the instances are if no folder is named; benchmarks leave them out where it is missing."""

Json: t.TypeAlias = t.Any


class FormatError(ValueError):
    """A file is no WfFormat; the message names it."""


def instances(folder: Path, *, least: int = 1) -> Iterator[tuple[str, TaskGraph]]:
    """Yield name and graph of each WfFormat file of a folder, plain or gzip, in order of names.

    Parameters
    ----------
    folder
        Searched without its subfolders.
    least
        Instances of fewer steps are left out.

    Raises
    ------
    FormatError
        A file is no WfFormat.
    """
    for name, graph in _each(folder, graph_of):
        if len(graph.names) >= least:
            yield name, graph


def artifact_instances(folder: Path, *, least: int = 1) -> Iterator[tuple[str, ArtifactGraph]]:
    """Yield name and artifacts of each WfFormat file of a folder, as `instances` does.

    Raises
    ------
    FormatError
        A file is no WfFormat.
    """
    for name, graph in _each(folder, artifact_graph):
        if len(graph.jobs) >= least:
            yield name, graph


def read(path: Path) -> TaskGraph:
    """Return the graph of one WfFormat file.

    Raises
    ------
    FormatError
        The file is no WfFormat.
    """
    return _read(path, graph_of)


def graph_of(document: Json) -> TaskGraph:
    """Return the graph of a WfFormat document."""
    tasks, sizes, ran = _parts(document)
    before = _parents(tasks)
    given = [frozenset(task.get("outputFiles", [])) for task in tasks]
    edge_bytes = {
        (parent, index): sum(
            sizes.get(file, 0) for file in given[parent].intersection(task.get("inputFiles", []))
        )
        for index, task in enumerate(tasks)
        for parent in before[index]
    }
    ones = (1,) * len(tasks)
    return TaskGraph(
        names=tuple(task["id"] for task in tasks),
        predecessors=tuple(tuple(sorted(befores)) for befores in before),
        costs={"steps": ones, "pods": ones},
        seconds=tuple(_seconds(ran, task) for task in tasks),
        edge_bytes=edge_bytes,
    )


def artifact_graph(document: Json) -> ArtifactGraph:
    """Return the tasks and files of a WfFormat document.

    Every file that a task reads or writes is an artifact, those that no task writes have no
    producer. Resources are core-seconds, of one core where `coreCount` is missing. Where a size is
    missing it is 0.

    Raises
    ------
    ValueError
        Two tasks write the same file, or tasks wait for each other.
    """
    tasks, sizes, ran = _parts(document)
    producer: dict[str, int | None] = {}
    readers: dict[str, dict[int, None]] = {}
    for index, task in enumerate(tasks):
        for file in dict.fromkeys(task.get("outputFiles", [])):
            if producer.setdefault(file, index) != index:
                raise ValueError(f"two tasks write {file!r}")
        for file in task.get("inputFiles", []):
            readers.setdefault(file, {})[index] = None
    files = tuple(dict.fromkeys((*producer, *readers)))
    seconds = tuple(_seconds(ran, task) for task in tasks)
    cores = (float(ran[task["id"]].get("coreCount") or 1.0) for task in tasks)
    return ArtifactGraph(
        jobs=tuple(task["id"] for task in tasks),
        artifacts=files,
        producer=tuple(producer.get(file) for file in files),
        readers=tuple(tuple(readers.get(file, ())) for file in files),
        size_bytes=tuple(int(sizes.get(file, 0)) for file in files),
        seconds=seconds,
        resources=tuple(map(operator.mul, seconds, cores)),
        waits=tuple(tuple(sorted(befores)) for befores in _parents(tasks)),
    )


_Graph = t.TypeVar("_Graph")


def _each(folder: Path, form: Callable[[Json], _Graph]) -> Iterator[tuple[str, _Graph]]:
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.json.gz"))):
        yield path.name.removesuffix(".gz").removesuffix(".json"), _read(path, form)


def _read(path: Path, form: Callable[[Json], _Graph]) -> _Graph:
    raw = path.read_bytes()
    try:
        return form(json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw))
    except (KeyError, TypeError, ValueError, EOFError, OSError) as error:
        raise FormatError(f"{path}: no workflow in WfFormat ({error!r})") from error


def _parts(document: Json) -> tuple[Sequence[Json], dict[str, int], dict[str, Json]]:
    """Return the tasks of a document, the bytes of files, and what is told of each task's run."""
    workflow = document["workflow"]
    specification = workflow["specification"]
    sizes = {file["id"]: file["sizeInBytes"] for file in specification.get("files", [])}
    ran = {task["id"]: task for task in workflow["execution"]["tasks"]}
    return specification["tasks"], sizes, ran


def _parents(tasks: Sequence[Json]) -> list[dict[int, None]]:
    number = {task["id"]: index for index, task in enumerate(tasks)}
    before: list[dict[int, None]] = [{} for _ in tasks]
    for index, task in enumerate(tasks):
        # Some files give an edge at one of its ends only.
        for parent in task.get("parents", []):
            before[index][number[parent]] = None
        for child in task.get("children", []):
            before[number[child]][index] = None
    return before


def _seconds(ran: dict[str, Json], task: Json) -> float:
    return max(float(ran[task["id"]]["runtimeInSeconds"]), 0.0)
