"""The volumes of a pod, each a folder of this machine."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from tests.fakes.kubernetes.images import ConfigError
from tests.fakes.kubernetes.store import CONFIG_MAPS, SECRETS, ApiError, Json, Resource, Store


def entries(resource: Resource, found: Json) -> dict[str, bytes]:
    """The entries of a secret or a config map."""
    encoded = found.get("data" if resource == SECRETS else "binaryData") or {}
    texts = found.get("stringData" if resource == SECRETS else "data") or {}
    return {key: base64.b64decode(text) for key, text in encoded.items()} | {
        key: text.encode() for key, text in texts.items()
    }


def make_volume(
    store: Store, namespace: str, volume: Json, folder: Path, claims: Path, metadata: Json
) -> Path:
    """The folder that is a volume: `folder` itself, or one below `claims` that others share.

    Raises
    ------
    ConfigError
        What it is filled from is not there, or it is of a kind that is not emulated.
    """
    folder.mkdir(parents=True)
    if "emptyDir" in volume:
        return folder
    if claim := volume.get("persistentVolumeClaim"):
        kept = claims / str(claim["claimName"])
        kept.mkdir(parents=True, exist_ok=True)
        return kept
    if downward := volume.get("downwardAPI"):
        _show_annotations(downward["items"], metadata.get("annotations") or {}, folder)
        return folder
    sources = (volume.get("projected") or {}).get("sources") or [volume]
    for source in sources:
        _fill(store, namespace, source, folder)
    return folder


def _show_annotations(items: list[Json], annotations: Json, folder: Path) -> None:
    """Write annotations to files, behind links as the kubelet makes them."""
    real = folder / "..data"
    real.mkdir()
    for item in items:
        found = re.fullmatch(r"metadata\.annotations\['(.+)'\]", item["fieldRef"]["fieldPath"])
        if found is None:
            raise ConfigError(f"not emulated: the field {item['fieldRef']['fieldPath']}")
        file = real / item["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(annotations.get(found[1], ""), newline="")
    for name in {item["path"].partition("/")[0] for item in items}:
        (folder / name).symlink_to(f"..data/{name}")


def _fill(store: Store, namespace: str, volume: Json, folder: Path) -> None:
    for kind, resource in (("secret", SECRETS), ("configMap", CONFIG_MAPS)):
        if kind not in volume:
            continue
        source = volume[kind]
        name = source.get("secretName") or source.get("name")
        try:
            values = entries(resource, store.get(resource, namespace, name))
        except ApiError as error:
            if source.get("optional"):
                return
            raise ConfigError(str(error)) from error
        for item in source.get("items") or [{"key": key, "path": key} for key in values]:
            if item["key"] not in values:
                raise ConfigError(f"references non-existent {kind} key: {item['key']}")
            file = folder / item["path"]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(values[item["key"]])
        return
    raise ConfigError(f"not emulated: a volume with {', '.join(set(volume) - {'name'})}")
