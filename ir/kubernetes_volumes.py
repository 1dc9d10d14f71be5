"""Volumes of a workflow as Kubernetes writes them."""

from __future__ import annotations

import typing as t

from couler.ir.kubernetes_pods import given
from couler.ir.manifests import thawed
from couler.ir.storage import (
    ClaimVolume,
    ConfigVolume,
    CsiVolume,
    EmptyVolume,
    EphemeralVolume,
    HostVolume,
    NewClaimVolume,
    NfsVolume,
    ProjectedVolume,
    SecretVolume,
    SourceVolume,
    Volume,
)

Tree: t.TypeAlias = dict[str, t.Any]


def volume(wanted: Volume) -> Tree | None:
    """Return an entry of `volumes`; None for a claim that the run makes."""
    source = _source(wanted)
    return None if source is None else {"name": wanted.name, **source}


def _source(wanted: Volume) -> Tree | None:
    match wanted:
        case ClaimVolume():
            claim = {"claimName": wanted.claim, "readOnly": wanted.read_only}
            return {"persistentVolumeClaim": given(claim)}
        case EmptyVolume():
            medium = "Memory" if wanted.in_memory else None
            return {"emptyDir": given({"medium": medium, "sizeLimit": wanted.size})}
        case SecretVolume():
            return {"secret": {"secretName": wanted.secret, **_entries(wanted)}}
        case ConfigVolume():
            return {"configMap": {"name": wanted.config_map, **_entries(wanted)}}
        case HostVolume():
            return {"hostPath": {"path": wanted.path}}
        case NfsVolume():
            folder = {"server": wanted.server, "path": wanted.path, "readOnly": wanted.read_only}
            return {"nfs": given(folder)}
        case CsiVolume():
            return {"csi": _driver(wanted)}
        case EphemeralVolume():
            return {"ephemeral": {"volumeClaimTemplate": {"spec": _claim(wanted)}}}
        case ProjectedVolume():
            projected = {"sources": thawed(wanted.sources), "defaultMode": wanted.mode}
            return {"projected": given(projected)}
        case SourceVolume():
            return t.cast(Tree, thawed(wanted.source))
        case NewClaimVolume():
            return None
    t.assert_never(wanted)


def claim_template(wanted: NewClaimVolume) -> Tree:
    """Return an entry of `volumeClaimTemplates`."""
    return {"metadata": {"name": wanted.name}, "spec": _claim(wanted)}


def _claim(wanted: NewClaimVolume | EphemeralVolume) -> Tree:
    spec: Tree = {
        "accessModes": list(wanted.access_modes),
        "resources": {"requests": {"storage": wanted.size}},
    }
    if wanted.storage_class is not None:
        spec["storageClassName"] = wanted.storage_class
    return spec


def _entries(wanted: SecretVolume | ConfigVolume) -> Tree:
    items = [{"key": key, "path": path} for key, path in wanted.items.items()]
    fields = given({"items": items, "optional": wanted.optional})
    if wanted.mode is not None:  # 0 is a mode
        fields["defaultMode"] = wanted.mode
    return fields


def _driver(wanted: CsiVolume) -> Tree:
    secret = None if wanted.secret is None else {"name": wanted.secret}
    fields = {
        "driver": wanted.driver,
        "volumeAttributes": dict(wanted.attributes),
        "fsType": wanted.file_system,
        "readOnly": wanted.read_only,
        "nodePublishSecretRef": secret,
    }
    return given(fields)
