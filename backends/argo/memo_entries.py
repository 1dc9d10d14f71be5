"""The entries of cached steps in a namespace: config maps that Argo's controller writes."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from couler.backends.argo.changing import Json
from couler.backends.argo.cluster_api import ClusterApi
from couler.backends.argo.status_nodes import read_nodes
from couler.backends.argo.workflow_api import COMPLETED_LABEL
from couler.backends.remote import CacheEntry, CacheView
from couler.errors import EngineError, RefusedError
from couler.rest.client import RestError

CACHE_LABEL = "workflows.argoproj.io/configmap-type=Cache"
"""Label of the config maps that hold entries; Argo refuses others."""

_CONFLICT = 409
_CONFLICTS = 10


class MemoEntries:
    """Entries of cached steps, as `couler.backends.remote.SharedEntries`.

    Parameters
    ----------
    api
        The Kubernetes API; an Argo Server knows nothing of config maps.

    Notes
    -----
    For each hit Argo writes the time into the entry before its workflow goes on, so an entry whose
    text is the same as before was not hit. An update states the version of the whole map, and is
    refused if anything was written since.
    """

    def __init__(self, api: ClusterApi) -> None:
        self._api = api

    def view(self) -> CacheView:
        """Return the entries, and what runs that go on refer to.

        Raises
        ------
        EngineError
            The cluster cannot be asked, an entry cannot be read, or the state of a run that goes on
            is in a database of Argo's, so that nobody here can tell what it reads.
        """
        # What is hit later has another text when it is to be removed.
        maps = self._api.config_maps(CACHE_LABEL)
        workflows = self._api.workflows()
        seconds: dict[str, float] = {}
        texts: list[str] = []
        for workflow in workflows:
            goes_on = workflow["metadata"].get("labels", {}).get(COMPLETED_LABEL) != "true"
            if not goes_on and (workflow.get("status") or {}).get("offloadNodeStatusVersion"):
                continue  # how long its steps took is in a database of Argo's
            nodes = read_nodes(workflow)
            seconds.update(_seconds(nodes))
            if goes_on:
                told = [nodes, workflow["spec"].get("arguments")]
                texts.append(json.dumps(told, ensure_ascii=False))
        entries = tuple(
            _entry(found["metadata"]["name"], key, text, seconds)
            for found in maps
            for key, text in sorted((found.get("data") or {}).items())
        )
        return CacheView(entries, "\n".join(texts))

    def remove(self, entries: Collection[CacheEntry]) -> tuple[CacheEntry, ...]:
        """Remove entries that are as they were seen, and return those that were removed.

        Raises
        ------
        EngineError
            The cluster cannot be asked, or changes too often; entries of other config maps may be
            removed by then, and their files are still there.
        """
        removed: list[CacheEntry] = []
        for place in sorted({entry.place for entry in entries}):
            removed += self._remove(place, [one for one in entries if one.place == place])
        return tuple(removed)

    def _remove(self, place: str, entries: Sequence[CacheEntry]) -> Sequence[CacheEntry]:
        for _ in range(_CONFLICTS):
            found = self._api.config_map(place)
            if found is None:
                return ()
            data = dict(found.get("data") or {})
            same = [entry for entry in entries if data.get(entry.key) == entry.text]
            if not same:
                return ()
            for entry in same:
                del data[entry.key]
            try:
                self._api.put_config_map({**found, "data": data})
            except RestError as error:
                if error.code != _CONFLICT:
                    raise
                continue
            return same
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


def _seconds(nodes: dict[str, Json]) -> Iterator[tuple[str, float]]:
    for name, node in nodes.items():
        began, ended = node.get("startedAt"), node.get("finishedAt")
        if began and ended:
            yield name, (_time(ended) - _time(began)).total_seconds()


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
