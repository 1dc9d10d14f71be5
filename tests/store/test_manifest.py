"""Manifests of directories: what they hold comes back, and nothing leads out."""

from __future__ import annotations

import json

import pytest

from couler.errors import ArtifactError
from couler.store.manifest import Empty, Entry, File, Link, read_manifest, write_manifest

DIGEST = "0123456789abcdef" * 4


def file(path: str) -> File:
    return File(path, DIGEST, 3, False)


def test_manifest_comes_back_in_the_order_of_paths() -> None:
    entries: list[Entry] = [
        Link("z", "bin/run"),
        File("bin/run", DIGEST, 3, True),
        Empty("log"),
        file("a\udcff\n"),
    ]
    content = write_manifest(entries)
    assert read_manifest(content) == tuple(sorted(entries, key=lambda entry: entry.path))
    assert write_manifest(reversed(entries)) == content


@pytest.mark.parametrize(
    "entries",
    [
        [file("../x")],
        [file("/etc/passwd")],
        [file("a/../../x")],
        [file("a//x")],
        [file("./x")],
        [file("")],
        [file("a\0b")],
        [Empty("..")],
        [file("x"), file("x")],
        [file("x"), file("x/y")],
        [Link("x", "a"), file("x/y/z")],
        [Empty("x"), file("x/y")],
    ],
)
def test_a_path_that_is_not_inside_is_refused(entries: list[Entry]) -> None:
    with pytest.raises(ArtifactError):
        write_manifest(entries)


@pytest.mark.parametrize(
    "links",
    [
        {"x": "/etc/passwd"},
        {"x": "/"},
        {"x": ".."},
        {"x": "a/../.."},
        {"a/x": "../../y"},
        {"a/up": "..", "x": "a/up/.."},  # leads out only when the first link is followed
        {"b": "x/..", "x": "c/../.."},
        {"x": "a\0b"},
    ],
)
def test_a_link_that_leads_out_is_refused(links: dict[str, str]) -> None:
    with pytest.raises(ArtifactError):
        write_manifest([Link(path, target) for path, target in links.items()])
    rows = [{"path": path, "link": target} for path, target in links.items()]
    with pytest.raises(ArtifactError):
        read_manifest(json.dumps({"version": 1, "entries": rows}).encode())


@pytest.mark.parametrize(
    "links",
    [
        {"x": "a"},
        {"a/x": "../b"},
        {"x": "x"},
        {"x": "y", "y": "x"},
        {"x": "no/such/../thing"},
        {"a/up": "..", "x": "a/up"},
        {"x": "."},
    ],
)
def test_a_link_that_stays_inside_is_kept(links: dict[str, str]) -> None:
    entries = tuple(Link(path, target) for path, target in sorted(links.items()))
    assert read_manifest(write_manifest(entries)) == entries


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b"3",
        b'{"entries": []}',
        b'{"version": 2, "entries": []}',
        b'{"version": 1, "entries": 3}',
        b'{"version": 1, "entries": [3]}',
        b'{"version": 1, "entries": [{"path": "a", "sha256": "../../x", "size": 1}]}',
        b'{"version": 1, "entries": [{"path": "a", "link": ""}]}',
        b'{"version": 1, "entries": [{"path": "a", "other": 1}]}',
    ],
)
def test_other_content_is_no_manifest(content: bytes) -> None:
    with pytest.raises(ArtifactError, match="no manifest"):
        read_manifest(content)
