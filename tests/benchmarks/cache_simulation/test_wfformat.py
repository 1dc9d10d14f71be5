"""Documents of WfFormat as graphs of jobs and artifacts."""

from __future__ import annotations

import copy
import gzip
import json
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.cache_simulation.wfformat import parse_wfformat, read_wfformat
from couler.errors import SerializationError


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


def test_files_give_edges_at_either_end_sizes_and_times() -> None:
    tree = document(a={"children": ["b"], "outputFiles": ["x"]}, b={"inputFiles": ["x"]})
    tree["workflow"]["specification"]["files"] = []
    tree["workflow"]["execution"]["tasks"][0]["runtimeInSeconds"] = -1
    graph = parse_wfformat(tree)
    assert graph.waits == ((), (0,))
    # A size that is missing, and a time before the start, count nothing.
    assert (graph.size_bytes, graph.seconds) == ((0,), (0.0, 2.0))


@pytest.mark.parametrize("is_packed", [False, True])
def test_plain_and_packed_files_are_read_alike(tmp_path: Path, is_packed: bool) -> None:
    tree = document(a={"outputFiles": ["x"]}, b={"inputFiles": ["x"]})
    raw = json.dumps(tree).encode()
    path = tmp_path / ("some.json.gz" if is_packed else "some.json")
    path.write_bytes(gzip.compress(raw) if is_packed else raw)
    assert read_wfformat(path) == parse_wfformat(tree)


@pytest.mark.parametrize("raw", [b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("name", ["some.json", "some.json.gz"])
def test_what_is_no_json_object_is_refused_by_name(tmp_path: Path, name: str, raw: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(raw)[:-4] if name.endswith("gz") else raw)
    with pytest.raises(SerializationError, match=r"some\.json.*: no workflow in WfFormat"):
        read_wfformat(path)


def changed(change: Callable[[t.Any, t.Any], object]) -> dict[str, t.Any]:
    """A sound document, changed in its specification or its execution."""
    tree = copy.deepcopy(document(a={"outputFiles": ["x"]}, b={"inputFiles": ["x"]}))
    change(tree["workflow"]["specification"], tree["workflow"]["execution"])
    return tree


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda s, e: s.pop("tasks"), r"workflow\.specification\.tasks: Field required"),
        (lambda s, e: s["tasks"][1].pop("id"), r"specification\.tasks\.1\.id: Field required"),
        (lambda s, e: e["tasks"].pop(), "execution.tasks does not say how 'b' ran"),
        (lambda s, e: e["tasks"][0].update(runtimeInSeconds="soon"), "runtimeInSeconds: Input"),
        (lambda s, e: e["tasks"][0].update(runtimeInSeconds=float("nan")), "finite number"),
        (lambda s, e: s["files"][0].update(sizeInBytes=-1), "sizeInBytes: Input should be greater"),
        (lambda s, e: s["files"][0].update(sizeInBytes=float("inf")), "sizeInBytes: Input"),
        (lambda s, e: [s["files"][0].pop("id"), s["tasks"][0].pop("id")], ", and 1 more"),
        (lambda s, e: s["tasks"][1].update(id="a"), "has two tasks of one id"),
        (lambda s, e: s["tasks"][1].update(parents=["c"]), "'b' names 'c', which is no task"),
        (lambda s, e: s["tasks"][1].update(outputFiles=["x"]), "two tasks write 'x'"),
        (lambda s, e: s["tasks"][0].update(parents=["b"]), "jobs wait for each other: "),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(
    change: Callable[[t.Any, t.Any], object], problem: str
) -> None:
    with pytest.raises(SerializationError, match=f"^w: no workflow in WfFormat 1.5: .*{problem}"):
        parse_wfformat(changed(change), file="w")
