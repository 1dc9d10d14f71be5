"""Volumes of every kind, as programs describe them."""

from __future__ import annotations

import json
import typing as t
from collections.abc import Callable
from pathlib import Path

import pytest

import couler
from couler import stages
from couler.ir import storage
from tests.dsl.look import box, codes
from tests.support import argo_schema

GOLDEN = Path(__file__).parents[1] / "golden" / "dsl" / "volumes.yaml"


def example() -> couler.Workflow:
    volumes = [
        couler.Volume("data", claim_name="datasets", read_only=True),
        couler.SecretVolume("keys", secret="deploy-keys"),
        couler.ConfigVolume("site", config_map="site"),
        couler.HostVolume("models", path="/srv/models"),
        couler.ScratchVolume("fast", size="1Gi", in_memory=True),
        couler.SecretVolume("one-key", "keys", items={"token": "in/token"}, mode=0o440),
        couler.ConfigVolume("maybe", "site", optional=True),
        couler.NfsVolume("shared", server="files", path="/exports", read_only=True),
        couler.CsiVolume("driven", "csi.example.org", {"share": "a"}, "ext4", True, "login"),
        couler.EphemeralVolume("own", size="5Gi", storage_class="fast"),
        couler.ProjectedVolume("mixed", [{"serviceAccountToken": {"path": "token"}}], mode=0o400),
        couler.SourceVolume("image", {"image": {"reference": "data:1"}}),
    ]
    with couler.Workflow("volumes") as wf:
        for volume in volumes:
            couler.add_volume(volume)
        couler.create_workflow_volume(couler.VolumeClaimTemplate("work", size="2Gi"))
        names = [*(volume.name for volume in volumes), "work", "scratch"]
        mounts = [couler.VolumeMount(name, f"/mnt/{name}") for name in names]
        box("a", volume_mounts=mounts)
    return wf


def test_every_kind_of_volume_can_be_said() -> None:
    wf = example()
    assert codes(wf) == []
    assert wf.to_ir().volumes == (
        storage.ClaimVolume(name="data", claim="datasets", read_only=True),
        storage.SecretVolume(name="keys", secret="deploy-keys"),
        storage.ConfigVolume(name="site", config_map="site"),
        storage.HostVolume(name="models", path="/srv/models"),
        storage.EmptyVolume(name="fast", size="1Gi", in_memory=True),
        storage.SecretVolume(
            name="one-key", secret="keys", items={"token": "in/token"}, mode=0o440
        ),
        storage.ConfigVolume(name="maybe", config_map="site", optional=True),
        storage.NfsVolume(name="shared", server="files", path="/exports", read_only=True),
        storage.CsiVolume(
            name="driven",
            driver="csi.example.org",
            attributes={"share": "a"},
            file_system="ext4",
            read_only=True,
            secret="login",
        ),
        storage.EphemeralVolume(name="own", size="5Gi", storage_class="fast"),
        storage.ProjectedVolume(
            name="mixed", sources=({"serviceAccountToken": {"path": "token"}},), mode=0o400
        ),
        storage.SourceVolume(name="image", source={"image": {"reference": "data:1"}}),
        storage.NewClaimVolume(name="work", size="2Gi"),
        storage.EmptyVolume(name="scratch"),
    )
    kinds = {type(volume) for volume in wf.to_ir().volumes}
    assert kinds == set(t.get_args(t.get_args(storage.Volume)[0]))


@pytest.mark.parametrize(
    ("volume", "code"),
    [
        (3, "CLR105"),
        (couler.VolumeClaimTemplate("work"), "CLR105"),
        (couler.SecretVolume(3, "a"), "CLR105"),  # type: ignore[arg-type]
        (couler.HostVolume("a", "relative"), "CLR415"),
        (couler.ScratchVolume("a", size="lots"), "CLR401"),
        (couler.SecretVolume("a", "keys", items={"no key": "x"}), "CLR411"),
        (couler.SecretVolume("a", "keys", items={"key": "../x"}), "CLR415"),
        (couler.ConfigVolume("a", "site", mode=0o7777), "CLR105"),
        (couler.NfsVolume("a", "files", "exports"), "CLR415"),
        (couler.NfsVolume("a", " ", "/exports"), "CLR421"),
        (couler.CsiVolume("a", "Driver"), "CLR411"),
        (couler.EphemeralVolume("a", size="lots"), "CLR401"),
        (couler.EphemeralVolume("a", access_modes=["ReadWrite"]), "CLR421"),
        (couler.ProjectedVolume("a", []), "CLR105"),
        (couler.ProjectedVolume("a", [{"sercet": {}}]), "CLR421"),
        (couler.SourceVolume("a", {"image": {}, "iscsi": {}}), "CLR105"),
        (couler.SourceVolume("a", {"isci": {}}), "CLR421"),
    ],
)
def test_wrong_volumes_are_told_of_once(volume: t.Any, code: str) -> None:
    with couler.Workflow("w") as wf:
        couler.add_volume(volume)
        box("a")
    assert codes(wf) == [code]


@pytest.mark.golden
def test_volumes_for_argo(golden: Callable[[Path, str], None]) -> None:
    wf = example()
    golden(GOLDEN, stages.compile(wf, "argo").to_text())
    manifest = json.loads(stages.compile(wf, "argo", format="json").to_text())
    assert argo_schema.problems(manifest) == []
