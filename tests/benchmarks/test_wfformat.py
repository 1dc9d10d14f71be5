"""Files of WfFormat as artifacts: who writes and reads them, and how large they are."""

from __future__ import annotations

import importlib
import json
import typing as t
from pathlib import Path

import pytest

from couler.caching.graph import ArtifactGraph

pytestmark = pytest.mark.checkout

ROOT = Path(__file__).resolve().parents[2] / "benchmarks"
WORKFLOWS = Path(__file__).with_name("workflows")


@pytest.fixture
def wfformat(monkeypatch: pytest.MonkeyPatch) -> t.Any:
    monkeypatch.syspath_prepend(str(ROOT))
    return importlib.import_module("workloads.wfformat")


def document(**tasks: dict[str, t.Any]) -> dict[str, t.Any]:
    """Return a document of tasks that run for 2 seconds, with files of as many bytes as letters."""
    files = {
        file
        for task in tasks.values()
        for field in ("inputFiles", "outputFiles")
        for file in task.get(field, ())
    }
    ran = [
        {"id": name, "runtimeInSeconds": 2, **task.pop("ran", {})} for name, task in tasks.items()
    ]
    return {
        "workflow": {
            "specification": {
                "tasks": [{"id": name, **task} for name, task in tasks.items()],
                "files": [{"id": file, "sizeInBytes": len(file)} for file in sorted(files)],
            },
            "execution": {"tasks": ran},
        }
    }


def test_file_is_one_artifact_whoever_reads_it(wfformat: t.Any) -> None:
    graph: ArtifactGraph = wfformat.artifact_graph(
        document(
            clean={"inputFiles": ["raw"], "outputFiles": ["table"], "ran": {"coreCount": 4}},
            fit={"parents": ["clean"], "inputFiles": ["table", "raw"], "outputFiles": ["model"]},
            draw={"inputFiles": ["table"], "parents": ["clean"]},
            note={"parents": ["draw"]},
        )
    )
    assert graph.jobs == ("clean", "fit", "draw", "note")
    assert graph.artifacts == ("table", "model", "raw")
    assert graph.producer == (0, 1, None)
    assert graph.readers == ((1, 2), (), (0, 1))
    assert graph.size_bytes == (5, 5, 3)
    assert graph.seconds == (2.0, 2.0, 2.0, 2.0)
    assert graph.resources == (8.0, 2.0, 2.0, 2.0)
    # Who reads nothing of a parent waits for it nevertheless.
    assert graph.predecessors == ((), (0,), (0,), (2,))


def test_artifacts_of_a_folder_agree_with_its_task_graphs(wfformat: t.Any) -> None:
    graphs = dict(wfformat.instances(WORKFLOWS))
    found: dict[str, ArtifactGraph] = dict(wfformat.artifact_instances(WORKFLOWS))
    assert list(found) == list(graphs)
    for name, graph in found.items():
        tasks = graphs[name]
        assert graph.jobs == tasks.names
        assert graph.seconds == tasks.seconds
        assert graph.predecessors == tasks.predecessors
        travelling = dict.fromkeys(tasks.edge_bytes, 0)
        for maker, readers, size in zip(
            graph.producer, graph.readers, graph.size_bytes, strict=True
        ):
            for reader in readers:
                if maker is not None:
                    travelling[maker, reader] += size
        assert travelling == tasks.edge_bytes
    assert not dict(wfformat.artifact_instances(WORKFLOWS, least=1000))


def test_file_that_two_tasks_write_is_refused(wfformat: t.Any, tmp_path: Path) -> None:
    twice = document(a={"outputFiles": ["x"]}, b={"outputFiles": ["x"]})
    (tmp_path / "twice.json").write_text(json.dumps(twice))
    with pytest.raises(wfformat.FormatError, match=r"twice\.json.*two tasks write 'x'"):
        list(wfformat.artifact_instances(tmp_path))
