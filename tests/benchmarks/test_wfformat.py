"""Folders of WfFormat files, as tasks and as artifacts."""

from __future__ import annotations

import gzip
import importlib
import shutil
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


def test_subfolders_are_searched_too(wfformat: t.Any, tmp_path: Path) -> None:
    shutil.copytree(WORKFLOWS, tmp_path / "deep/er")
    expected = [(f"deep/er/{name}", graph) for name, graph in wfformat.instances(WORKFLOWS)]
    assert list(wfformat.instances(tmp_path)) == expected


def test_files_of_one_name_in_several_folders_are_all_found(
    wfformat: t.Any, tmp_path: Path
) -> None:
    for folder in ("", "one", "other"):
        (tmp_path / folder).mkdir(exist_ok=True)
        shutil.copy(WORKFLOWS / "counts.json", tmp_path / folder)
    packed = gzip.compress((WORKFLOWS / "counts.json").read_bytes())
    (tmp_path / "other/packed.json.gz").write_bytes(packed)
    found = dict(wfformat.instances(tmp_path))
    assert list(found) == ["counts", "one/counts", "other/counts", "other/packed"]
