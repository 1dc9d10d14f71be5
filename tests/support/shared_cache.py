"""Entries of cached steps in an emulated cluster, and a repository with their files."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from couler.backends.argo.memo_entries import MemoEntries
from couler.caching.policies.simple import LeastRecentlyUsed
from couler.caching.policy import CachePolicy
from couler.control.cache_sync import SyncReport, sync_entries
from couler.ir.cachekey import repository_mark
from couler.store.run_files import RunFiles
from tests.fakes.kubernetes.store import CONFIG_MAPS, WORKFLOWS
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
MAP = "couler-w-0"


class Place:
    """A cluster, and a repository of files that its entries are of."""

    def __init__(self, cluster: EmulatedCluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder

    def entry(
        self,
        key: str,
        size: int,
        *,
        hours_ago: float = 5,
        used: float | None = None,
        place: str = MAP,
        repository: str | None = None,
    ) -> None:
        """Make an entry and its file, of a run of its own."""
        location = f"run-{key}/make/f"
        file = self.folder / location
        file.parent.mkdir(parents=True)
        file.write_bytes(b"x" * size)
        made = NOON - timedelta(hours=hours_ago)
        hit = made if used is None else NOON - timedelta(hours=used)
        self.put(place, {key: text_of(key, location, made, hit, repository)})

    def put(self, place: str, data: Mapping[str, str], label: str = "Cache") -> None:
        """Add to a config map."""
        labels = {"workflows.argoproj.io/configmap-type": label}
        if place not in self.names():
            metadata = {"name": place, "labels": labels}
            found = {"metadata": metadata, "data": dict(data)}
            self.cluster.store.create(CONFIG_MAPS, NAMESPACE, found)
        else:
            self.cluster.store.change(
                CONFIG_MAPS, NAMESPACE, place, lambda found: found["data"].update(data)
            )

    def names(self) -> set[str]:
        return {one["metadata"]["name"] for one in self.cluster.objects("ConfigMap")}

    def keys(self) -> set[str]:
        """The keys of all entries."""
        maps = self.cluster.objects("ConfigMap")
        return {key for found in maps for key in found.get("data") or {}}

    def files(self) -> set[str]:
        """The keys whose files are there."""
        runs = self.folder.glob("run-*/make/f")
        return {run.parts[-3].removeprefix("run-") for run in runs}

    def workflow(self, name: str, nodes: Mapping[str, t.Any], *, ended: bool) -> None:
        """Make a Workflow with nodes."""
        labels = {"workflows.argoproj.io/completed": "true"} if ended else {}
        found = {
            "apiVersion": "argoproj.io/v1alpha1",
            "kind": "Workflow",
            "metadata": {"name": name, "labels": labels},
            "spec": {},
            "status": {"nodes": dict(nodes)},
        }
        self.cluster.store.create(WORKFLOWS, NAMESPACE, found)

    def value(self, key: str, *, hours_ago: float, letters: int = 100, place: str = MAP) -> None:
        """Make an entry without files."""
        self.put(place, {key: value_of(hours_ago, letters)})

    def mark(self) -> str | None:
        """What tells this repository from others."""
        return repository_mark(str(self.folder))

    def shared(self) -> MemoEntries:
        return MemoEntries(self.cluster.api())

    def sync(
        self,
        budget: int,
        policy: CachePolicy | None = None,
        *,
        shared: MemoEntries | None = None,
        files: RunFiles | None = None,
        **options: t.Any,
    ) -> SyncReport:
        return sync_entries(
            shared or self.shared(),
            files or RunFiles(str(self.folder)),
            policy or LeastRecentlyUsed(),
            budget_bytes=budget,
            now=NOON,
            **options,
        )


def text_of(
    key: str, location: str, made: datetime, hit: datetime, repository: str | None = None
) -> str:
    """Return an entry as Argo writes it; its repository is told if it is given."""
    artifact = {"name": "f", "path": "/tmp/f", "s3": {"key": location}}
    parameters = [{"name": "f", "value": location}]
    if repository is not None:
        parameters.append({"name": "couler_repository", "value": repository})
    outputs = {"parameters": parameters, "artifacts": [artifact]}
    entry = {
        "nodeID": f"run-{key}-1",
        "outputs": outputs,
        "creationTimestamp": made.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lastHitTimestamp": hit.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return json.dumps(entry)


def value_of(hours_ago: float, letters: int) -> str:
    """Return an entry without files, as Argo writes it."""
    at = (NOON - timedelta(hours=hours_ago)).strftime("%Y-%m-%dT%H:%M:%SZ")
    times = dict.fromkeys(("creationTimestamp", "lastHitTimestamp"), at)
    return json.dumps({"nodeID": "x-1", "outputs": {"result": "v" * letters}, **times})


def keys_of(report: SyncReport) -> list[str]:
    return [one.entry.key for one in report.removed]
