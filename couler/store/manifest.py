"""The content of a directory: an object that names the objects of its files."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from couler.errors import ArtifactError

_VERSION = 1
_MOST_LINKS = 40
"""How many links Linux follows in one path."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a directory."""

    path: str
    """Relative, with `/`."""
    digest: str
    size: int
    is_executable: bool


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link that does not lead out of the directory."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class Empty:
    """A directory without entries; the others follow from their entries."""

    path: str


Entry: t.TypeAlias = File | Link | Empty


def write_manifest(entries: Iterable[Entry]) -> bytes:
    """Return the manifest of a directory."""
    ordered = sorted(entries, key=lambda entry: entry.path)
    check_entries(ordered)
    content = {"version": _VERSION, "entries": [_to_json(entry) for entry in ordered]}
    # Names that are no UTF-8 are lone surrogates, which JSON can hold in ASCII only.
    return json.dumps(content, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def read_manifest(content: bytes) -> tuple[Entry, ...]:
    """Return the entries of a manifest."""
    try:
        tree = json.loads(content)
        if tree["version"] != _VERSION:
            raise ValueError(f"version {tree['version']!r}")
        entries = tuple(_from_json(row) for row in tree["entries"])
    except (ValueError, TypeError, KeyError) as error:
        raise ArtifactError(f"this is no manifest of a directory: {error}") from error
    check_entries(entries)
    return entries


def check_entries(entries: Iterable[Entry]) -> None:
    """Refuse entries that are outside the directory, lead out of it or collide."""
    by_path: dict[str, Entry] = {}
    folders: set[str] = set()
    for entry in entries:
        parts = entry.path.split("/")
        is_inside = set(parts).isdisjoint(("", ".", "..")) and "\0" not in entry.path
        if not is_inside or entry.path in by_path:
            raise ArtifactError(f"{entry.path!r} is no path inside a directory")
        by_path[entry.path] = entry
        folder = entry.path
        while "/" in folder and (folder := folder.rpartition("/")[0]) not in folders:
            folders.add(folder)
    for path in folders & by_path.keys():
        raise ArtifactError(f"{path!r} is no directory, but something lies below it")
    links = {entry.path: entry.target for entry in by_path.values() if isinstance(entry, Link)}
    for path, target in links.items():
        if _leads_out(path, links):
            raise ArtifactError(
                f"the link {path!r} leads out of its directory, to {target!r}. Copy what it leads "
                "to instead, or make the link relative"
            )


def _leads_out(path: str, links: Mapping[str, str]) -> bool:
    """Whether following a path comes above the root, as the kernel would follow it."""
    here: list[str] = []
    ahead = path.split("/")[::-1]
    followed = 0
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not here:
                return True
            here.pop()
            continue
        here.append(part)
        target = links.get("/".join(here))
        if target is None:
            continue
        followed += 1
        if target.startswith("/") or "\0" in target:
            return True
        if followed > _MOST_LINKS:  # a circle, which leads nowhere
            return False
        here.pop()
        ahead += target.split("/")[::-1]
    return False


def _to_json(entry: Entry) -> dict[str, object]:
    match entry:
        case File():
            row: dict[str, object] = {"path": entry.path, "sha256": entry.digest}
            row["size"] = entry.size
            if entry.is_executable:
                row["executable"] = True
            return row
        case Link():
            return {"path": entry.path, "link": entry.target}
        case Empty():
            return {"path": entry.path}
    t.assert_never(entry)


def _from_json(row: t.Any) -> Entry:
    match row:
        case {"path": str(path), "sha256": str(digest), "size": int(size)}:
            if len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
                raise ValueError(f"no digest: {digest!r}")
            return File(path, digest, size, row.get("executable") is True)
        case {"path": str(path), "link": str(target)} if target:
            return Link(path, target)
        case {"path": str(path)} if len(row) == 1:
            return Empty(path)
    raise ValueError(f"no entry: {row!r:.100}")
