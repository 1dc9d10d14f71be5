"""The entries of cached steps in a namespace: config maps that Argo's controller writes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.footprint import MAX_BYTES
from couler.backends.argo.memoization import REPOSITORY_MARK
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import Json
from couler.backends.shared_entries import CacheEntry, CacheView
from couler.errors import EngineError, RefusedError
from couler.ir.wording import counted
from couler.rest.client import RestError

CACHE_LABEL = "workflows.argoproj.io/configmap-type=Cache"
"""Label of the config maps that hold entries; Argo refuses others."""

_NOT_LOADED = re.compile(r"\bartifact (\S{1,200}) failed to load: ")
"""How the executor tells of a file that it could not fetch; its name is that of an input."""

_PLACE_BYTES = MAX_BYTES // 2
"""What a config map is to hold at most: beside it there is room for the entries of runs to come."""

_LEFT = "left-"
"""How the key begins of an entry that no step takes, as those of steps are digests."""

_CONFLICT = 409
_CONFLICTS = 10


class MemoEntries:
    """Entries of cached steps, as `couler.backends.shared_entries.SharedEntries`."""

    def __init__(self, api: ClusterApi) -> None:
        self._api = api

    def view(self) -> CacheView:
        """Return the entries, and what runs refer to that go on, or have given out."""
        # What is hit later has another text when it is to be removed.
        maps = self._api.config_maps(CACHE_LABEL)
        workflows = self._api.workflows()
        seconds: dict[str, float] = {}
        needed: set[str] = set()
        for workflow in workflows:
            status = workflow.get("status") or {}
            goes_on = workflow["metadata"].get("labels", {}).get(COMPLETED_LABEL) != "true"
            if not goes_on and status.get("offloadNodeStatusVersion"):
                continue  # how long its steps took is in a database of Argo's
            nodes = read_nodes(workflow)
            seconds.update(_seconds(nodes))
            if goes_on:
                needed |= locations_in([nodes, workflow["spec"].get("arguments")])
            else:
                root = nodes.get(workflow["metadata"]["name"], {})
                needed |= locations_in(root.get("outputs"))
        entries = tuple(
            _entry(found["metadata"]["name"], key, text, seconds)
            for found in maps
            for key, text in sorted((found.get("data") or {}).items())
        )
        return CacheView(entries, frozenset(needed), _PLACE_BYTES)

    def remove(self, entries: Collection[CacheEntry]) -> tuple[CacheEntry, ...]:
        """Remove entries that are as they were seen, and return those that were removed."""
        removed: list[CacheEntry] = []
        for place, of_place in _by_place(entries):
            removed += self._remove(place, of_place)
        return tuple(removed)

    def put_aside(self, entries: Collection[CacheEntry]) -> None:
        """Put removed entries back under keys that no step asks for."""
        for place, of_place in _by_place(entries):
            left = {f"{_LEFT}{one.key.removeprefix(_LEFT)}": one.text for one in of_place}
            if not self._write(place, partial(_with, left)):
                raise EngineError(
                    f"argo: the config map {place} is gone, which was to keep "
                    f"{counted(len(left), 'entry', 'entries')} whose files are left"
                )

    def missed(self, place: Mapping[str, Json]) -> frozenset[str]:
        """Return the locations of files of cached steps that steps of a run did not find."""
        workflow = self._api.get(place["name"])
        family = [workflow, *self._api.children(workflow["metadata"]["uid"])]
        nodes = [node for one in family for node in read_nodes(one).values()]
        kept = {
            location
            for node in nodes
            if node.get("memoizationStatus")
            for location in _locations(node.get("outputs") or {})
        }
        return frozenset(kept & _asked_for(nodes))

    def forget(self, locations: Collection[str]) -> None:
        """Remove all entries that have a file at one of some locations."""
        wanted = frozenset(locations)
        for found in self._api.config_maps(CACHE_LABEL):
            self._change(
                found["metadata"]["name"],
                lambda data: [key for key, text in data.items() if _is_of(text, wanted)],
            )

    def _remove(self, place: str, entries: Sequence[CacheEntry]) -> Sequence[CacheEntry]:
        by_key = {entry.key: entry for entry in entries}
        gone = self._change(
            place,
            lambda data: [key for key, entry in by_key.items() if data.get(key) == entry.text],
        )
        return [by_key[key] for key in gone]

    def _change(
        self, place: str, choose: Callable[[Mapping[str, str]], Sequence[str]]
    ) -> Sequence[str]:
        """Remove the chosen keys of a config map and return them."""
        gone: set[str] = set()

        def without(data: Mapping[str, str]) -> Mapping[str, str]:
            gone.clear()
            gone.update(choose(data))
            return {key: text for key, text in data.items() if key not in gone}

        self._write(place, without)
        return sorted(gone)

    def _write(self, place: str, change: Callable[[Mapping[str, str]], Mapping[str, str]]) -> bool:
        """Change what a config map holds, again if others wrote it; return whether it is there."""
        for _ in range(_CONFLICTS):
            found = self._api.config_map(place)
            data = {} if found is None else found.get("data") or {}
            changed = change(data)
            if found is None or changed == data:
                return found is not None
            try:
                self._api.put_config_map({**found, "data": changed})
            except RestError as error:
                if error.code != _CONFLICT:
                    raise
                continue
            return True
        raise RefusedError(
            f"argo: the config map {place} changes too often to be changed from here. Try again"
        )


def _entry(place: str, key: str, text: str, seconds: dict[str, float]) -> CacheEntry:
    try:
        found = json.loads(text)
        outputs = found.get("outputs") or {}
        return CacheEntry(
            place=place,
            key=key,
            text=text,
            made_by=found["nodeID"],
            made_at=_time(found["creationTimestamp"]),
            used_at=_time(found["lastHitTimestamp"]),
            seconds=seconds.get(found["nodeID"]),
            locations=tuple(_locations(outputs)),
            repository=_repository(outputs),
            is_left=key.startswith(_LEFT),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineError(
            f"argo: the entry {key} of the config map {place} is none that Argo writes: {error!r}. "
            "Remove it, or give the map another label"
        ) from error


def _locations(outputs: Json) -> Iterator[str]:
    """Yield the keys of what is kept in the repository: those of the step's own files."""
    values = {one.get("value") for one in outputs.get("parameters") or ()}
    for artifact in outputs.get("artifacts") or ():
        where = artifact.get("s3") or {}
        # A file at a location of its own has a bucket; it is not for us to remove.
        if set(where) == {"key"} and where["key"] in values:
            yield where["key"]


def _repository(outputs: Json) -> str | None:
    """Return which repository an entry says that its files are in."""
    told = (one for one in outputs.get("parameters") or () if one.get("name") == REPOSITORY_MARK)
    return next((one.get("value") for one in told), None)


def _with(more: Mapping[str, str], data: Mapping[str, str]) -> Mapping[str, str]:
    return {**data, **more}


def _by_place(entries: Iterable[CacheEntry]) -> Iterator[tuple[str, Sequence[CacheEntry]]]:
    places: dict[str, list[CacheEntry]] = {}
    for entry in entries:
        places.setdefault(entry.place, []).append(entry)
    yield from sorted(places.items())


def _is_of(text: str, locations: frozenset[str]) -> bool:
    """Whether an entry has a file at one of some locations; none that cannot be read has."""
    try:
        found = json.loads(text)
        return not locations.isdisjoint(_locations(found.get("outputs") or {}))
    except (ValueError, TypeError, AttributeError):
        return False


def _asked_for(nodes: Iterable[Json]) -> set[str]:
    """Return the keys of files that pods could not fetch."""
    keys: set[str] = set()
    for node in nodes:
        named = set(_NOT_LOADED.findall(node.get("message") or ""))
        artifacts = (node.get("inputs") or {}).get("artifacts") or () if named else ()
        keys |= {(one.get("s3") or {}).get("key", "") for one in artifacts if one["name"] in named}
    return keys


def _seconds(nodes: dict[str, Json]) -> Iterator[tuple[str, float]]:
    for name, node in nodes.items():
        began, ended = node.get("startedAt"), node.get("finishedAt")
        if began and ended:
            yield name, (_time(ended) - _time(began)).total_seconds()


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)


_WORD = re.compile(r"[^\s\"'`\\,\[\]{}()<>]+")
"""What may be a location inside of a text that is no JSON."""

_LONGEST = 4096
"""No location has more letters: keys of S3 have at most 1,024 bytes, paths of Linux 4,096."""


def locations_in(tree: Json) -> set[str]:
    """Return all that may be locations of files in a JSON value, and the folders they are in."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, list):
            waiting += one
        elif isinstance(one, str):
            inside = _inside(one)
            waiting += inside
            for text in () if inside else (one, *_WORD.findall(one)):
                _add(found, text)
    return found


def _inside(text: str) -> list[Json]:
    """Return what a text holds that is a list or an object as JSON; nothing of others."""
    if text[:1] not in ("[", "{"):
        return []
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):  # nested more deeply than is read
        return []


def _add(found: set[str], text: str) -> None:
    """Add a text and the folders that it is in, unless they are known or it is no location."""
    text = text.rstrip("/") if len(text) <= _LONGEST else ""
    while text and text not in found:
        found.add(text)
        text = text.rpartition("/")[0]
