"""`couler cache sync`, against an emulated cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.fakes.kubernetes.store import CONFIG_MAPS
from tests.support.argo_cluster import NAMESPACE, EmulatedCluster, emulated_cluster

LONG_AGO = "2024-01-01T00:00:00Z"


@pytest.fixture
def cluster(folder: Path) -> Iterator[EmulatedCluster]:
    """A cluster with an entry of 2 KiB; the settings have it as the target `prod`."""
    with emulated_cluster(folder) as cluster:
        (folder / "files/run-1/make").mkdir(parents=True)
        (folder / "files/run-1/make/f").write_bytes(b"x" * 2048)
        location = "run-1/make/f"
        outputs = {
            "parameters": [{"name": "f", "value": location}],
            "artifacts": [{"name": "f", "s3": {"key": location}}],
        }
        times = {"creationTimestamp": LONG_AGO, "lastHitTimestamp": LONG_AGO}
        entry = {"nodeID": "run-1-77", "outputs": outputs, **times}
        labels = {"workflows.argoproj.io/configmap-type": "Cache"}
        metadata = {"name": "couler-w-a", "labels": labels}
        data = {"a" * 64: json.dumps(entry)}
        cluster.store.create(CONFIG_MAPS, NAMESPACE, {"metadata": metadata, "data": data})
        (folder / "pyproject.toml").write_text(
            f'[tool.couler.targets.prod]\nengine = "argo"\nkubeconfig = "{cluster.kubeconfig}"\n'
            '[tool.couler.targets.flow]\nengine = "airflow"\naddress = "http://localhost:1"\n'
            '[tool.couler.targets.server]\nengine = "argo"\nserver = "http://localhost:1"\n'
        )
        yield cluster


SYNC = ("cache", "sync", "prod", "--repository", "files")


def test_what_would_go_is_told_and_then_goes(
    couler: Callable, folder: Path, cluster: EmulatedCluster
) -> None:
    told = couler(*SYNC, "--budget", "1Ki", "--dry-run")
    assert told.code == 0
    assert told.out.splitlines()[1].startswith("aaaaaaaaaaaa  couler-w-a  2.0 KiB  is worth least")
    assert "would remove 1 entry (2.0 KiB) of 1 (2.0 KiB)" in told.err
    assert (folder / "files/run-1/make/f").exists()

    told = couler(*SYNC, "--budget", "1Ki", "--format", "json")
    assert told.code == 0
    [removed] = told.json["removed"]
    assert removed["locations"] == ["run-1/make/f"]
    assert (removed["made_by"], removed["size_bytes"], removed["seconds"]) == (
        "run-1-77",
        2048,
        None,
    )
    assert (told.json["freed_bytes"], told.json["over_bytes"]) == (2048, 0)
    assert not (folder / "files/run-1/make/f").exists()
    assert cluster.objects("ConfigMap")[0]["data"] == {}

    told = couler(*SYNC, "--budget", "1Ki", "--policy", "lru")
    assert (told.code, told.out) == (0, "")
    assert "removed 0 entries (0 B) of 0 (0 B)" in told.err


def test_a_budget_that_is_kept_removes_nothing(couler: Callable, cluster: EmulatedCluster) -> None:
    told = couler(*SYNC, "--budget", "2Ki", "--format", "json")
    assert (told.code, told.json["removed"], told.json["entries"]) == (0, [], 1)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (SYNC, 2, "no budget is stated. Give --budget SIZE"),
        (SYNC[:3], 2, "Missing option '--repository'"),
        ((*SYNC, "--budget", "1", "--policy", "nxt-use"), 2, "next-use"),
        (("cache", "sync", "flow", *SYNC[3:], "--budget", "1"), 2, "airflow keeps no entries"),
        (("cache", "sync", "server", *SYNC[3:], "--budget", "1"), 3, "Argo Server"),
        (("cache", "sync", "none", *SYNC[3:], "--budget", "1"), 3, '"none"'),
    ],
)
def test_what_is_missing_or_wrong_is_told(
    couler: Callable, cluster: EmulatedCluster, words: tuple[str, ...], code: int, message: str
) -> None:
    told = couler(*words)
    assert told.code == code, told.err
    assert message in told.err
