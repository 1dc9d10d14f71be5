"""Folders of workflows in WfFormat, see `benchmarks.cache_simulation.wfformat`.

In a `TaskGraph` a file that several tasks read counts on the edge to each of them, in an
`ArtifactGraph` it is one artifact.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from benchmarks.cache_simulation.wfformat import read_wfformat
from couler.caching.graph import ArtifactGraph
from couler.optimizers.partitioning.model import TaskGraph

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "wfinstances"
"""Where the instances are if no folder is named; benchmarks leave them out where it is missing."""


def instances(folder: Path, *, least: int = 1) -> Iterator[tuple[str, TaskGraph]]:
    """Yield name and graph of each WfFormat file of a folder, plain or gzip, in order of files.

    A name is the path of the file within the folder, without its ending: `deep/counts`.

    Parameters
    ----------
    folder
        Searched with its subfolders.
    least
        Instances of fewer steps are left out.

    Raises
    ------
    SerializationError
        A file is no WfFormat.
    """
    for name, graph in artifact_instances(folder, least=least):
        yield name, task_graph(graph)


def artifact_instances(folder: Path, *, least: int = 1) -> Iterator[tuple[str, ArtifactGraph]]:
    """Yield name and artifacts of each WfFormat file of a folder, as `instances` does.

    Raises
    ------
    SerializationError
        A file is no WfFormat.
    """
    found = (*folder.rglob("*.json"), *folder.rglob("*.json.gz"))
    for path in sorted(found, key=lambda path: (path.name, path)):
        graph = read_wfformat(path)
        if len(graph.jobs) >= least:
            name = path.relative_to(folder).as_posix()
            yield name.removesuffix(".gz").removesuffix(".json"), graph


def task_graph(graph: ArtifactGraph) -> TaskGraph:
    """Return the tasks of an instance, with what travels from parents to children."""
    edge_bytes = {(parent, job): 0 for job, parents in enumerate(graph.waits) for parent in parents}
    for job, files in enumerate(graph.inputs):
        for file in files:
            maker = graph.producer[file]
            if maker is not None and (maker, job) in edge_bytes:
                edge_bytes[maker, job] += graph.size_bytes[file]
    ones = (1,) * len(graph.jobs)
    return TaskGraph(
        names=graph.jobs,
        predecessors=graph.waits,
        costs={"steps": ones, "pods": ones},
        seconds=graph.seconds,
        edge_bytes=edge_bytes,
    )
