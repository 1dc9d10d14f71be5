"""Workflows in WfFormat 1.5, the JSON form of WfCommons: what ran, how long, and with which files.

Read are `workflow.specification.tasks` (id, parents, children, inputFiles, outputFiles),
`workflow.specification.files` (id, sizeInBytes) and `workflow.execution.tasks` (id,
runtimeInSeconds). A file that several tasks read counts on the edge to each of them.
"""

from __future__ import annotations

import gzip
import json
import typing as t
from collections.abc import Iterator
from pathlib import Path

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
    for path in sorted((*folder.glob("*.json"), *folder.glob("*.json.gz"))):
        graph = read(path)
        if len(graph.names) >= least:
            yield path.name.removesuffix(".gz").removesuffix(".json"), graph


def read(path: Path) -> TaskGraph:
    """Return the graph of one WfFormat file.

    Raises
    ------
    FormatError
        The file is no WfFormat.
    """
    raw = path.read_bytes()
    try:
        return graph_of(json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw))
    except (KeyError, TypeError, ValueError, EOFError, OSError) as error:
        raise FormatError(f"{path}: no workflow in WfFormat ({error!r})") from error


def graph_of(document: Json) -> TaskGraph:
    """Return the graph of a WfFormat document."""
    workflow = document["workflow"]
    tasks = workflow["specification"]["tasks"]
    sizes = {file["id"]: file["sizeInBytes"] for file in workflow["specification"].get("files", [])}
    ran = {task["id"]: task["runtimeInSeconds"] for task in workflow["execution"]["tasks"]}
    number = {task["id"]: index for index, task in enumerate(tasks)}
    before: list[dict[int, None]] = [{} for _ in tasks]
    for index, task in enumerate(tasks):
        # Some files give an edge at one of its ends only.
        for parent in task.get("parents", []):
            before[index][number[parent]] = None
        for child in task.get("children", []):
            before[number[child]][index] = None
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
        seconds=tuple(max(float(ran[task["id"]]), 0.0) for task in tasks),
        edge_bytes=edge_bytes,
    )
