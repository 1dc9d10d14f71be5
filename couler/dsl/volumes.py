"""Volumes: what a program says of them, and what they are in the IR."""

from __future__ import annotations

import typing as t
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from couler.dsl import objects
from couler.dsl.builder import current_scope
from couler.dsl.checks import attempt
from couler.ir import storage
from couler.ir.base import freeze_json
from couler.ir.storage import NewClaimVolume


@dataclass(frozen=True, slots=True)
class NfsVolume:
    """A folder that an NFS server exports, under the name by which steps mount it."""

    name: str
    server: str
    path: str
    read_only: bool = False


@dataclass(frozen=True, slots=True)
class CsiVolume:
    """Storage that a driver of the cluster makes for one pod.

    Attributes
    ----------
    name
        By which steps mount it.
    driver
        Name of the driver.
    attributes
        What the driver is told.
    file_system
        Such as `"ext4"`; None leaves it to the driver.
    read_only
        Nobody writes to it.
    secret
        Secret that the driver is given.
    """

    name: str
    driver: str
    attributes: Mapping[str, str] | None = None
    file_system: str | None = None
    read_only: bool = False
    secret: str | None = None


@dataclass(frozen=True, slots=True)
class EphemeralVolume:
    """A persistent volume claim that is made for one pod and removed with it."""

    name: str
    size: str = "1Gi"
    access_modes: Sequence[str] = ("ReadWriteOnce",)
    storage_class: str | None = None


@dataclass(frozen=True, slots=True)
class ProjectedVolume:
    """Files of several sources in one folder.

    Attributes
    ----------
    name
        By which steps mount it.
    sources
        As Kubernetes writes them, such as `[{"serviceAccountToken": {"path": "token"}}]`.
    mode
        Permissions of the files, such as `0o440`.
    """

    name: str
    sources: Sequence[Mapping[str, object]]
    mode: int | None = None


@dataclass(frozen=True, slots=True)
class SourceVolume:
    """A volume of any other kind of Kubernetes, as it writes it, such as `{"iscsi": {...}}`."""

    name: str
    source: Mapping[str, object]


AnyVolume: t.TypeAlias = (
    objects.Volume
    | objects.SecretVolume
    | objects.ConfigVolume
    | objects.HostVolume
    | objects.ScratchVolume
    | NfsVolume
    | CsiVolume
    | EphemeralVolume
    | ProjectedVolume
    | SourceVolume
)


def add_volume(volume: AnyVolume) -> None:
    """Make a volume known under the name by which steps mount it.

    Parameters
    ----------
    volume
        A claim that exists (`Volume`), a secret, a config map, a folder of the node, or scratch
        space.

    Examples
    --------
    >>> import couler
    >>> with couler.Workflow("mounts") as wf:
    ...     couler.add_volume(couler.SecretVolume("keys", secret="deploy-keys"))
    ...     couler.run_container("busybox", ["ls", "/keys"], name="list", volume_mounts=[
    ...         couler.VolumeMount("keys", "/keys", read_only=True)])
    <couler step list>
    >>> [(volume.name, volume.secret) for volume in wf.to_ir().volumes]
    [('keys', 'deploy-keys')]
    """
    builder = current_scope().builder
    made = attempt(builder, "add_volume", lambda: _volume(volume))
    if made is not None:
        builder.volumes[made.name] = made


def _volume(volume: AnyVolume) -> storage.Volume:
    match volume:
        case objects.Volume(name, claim, read_only):
            return storage.ClaimVolume(name=name, claim=claim, read_only=read_only)
        case objects.SecretVolume(name, secret, items, mode, optional):
            return storage.SecretVolume(
                name=name, secret=secret, items=dict(items or {}), mode=mode, optional=optional
            )
        case objects.ConfigVolume(name, config_map, items, mode, optional):
            return storage.ConfigVolume(
                name=name,
                config_map=config_map,
                items=dict(items or {}),
                mode=mode,
                optional=optional,
            )
        case objects.HostVolume(name, path):
            return storage.HostVolume(name=name, path=path)
        case objects.ScratchVolume(name, size, in_memory):
            return storage.EmptyVolume(name=name, size=size, in_memory=in_memory)
        case NfsVolume(name, server, path, read_only):
            return storage.NfsVolume(name=name, server=server, path=path, read_only=read_only)
        case CsiVolume(name, driver, attributes, file_system, read_only, secret):
            return storage.CsiVolume(
                name=name,
                driver=driver,
                attributes=dict(attributes or {}),
                file_system=file_system,
                read_only=read_only,
                secret=secret,
            )
        case EphemeralVolume(name, size, access_modes, storage_class):
            return storage.EphemeralVolume(
                name=name,
                size=size,
                access_modes=tuple(access_modes),
                storage_class=storage_class,
            )
        case ProjectedVolume(name, sources, mode):
            found = tuple(freeze_json(dict(source)) for source in sources)
            return storage.ProjectedVolume(name=name, sources=found, mode=mode)
        case SourceVolume(name, source):
            return storage.SourceVolume(name=name, source=freeze_json(dict(source)))
    raise TypeError(f"{volume!r:.60} is no volume, such as couler.Volume or couler.SecretVolume")


def create_workflow_volume(volume: objects.VolumeClaimTemplate) -> None:
    """Make a persistent volume claim for every run; steps mount it by its name."""
    builder = current_scope().builder
    made = attempt(builder, "create_workflow_volume", lambda: _new_claim(volume))
    if made is not None:
        builder.volumes[made.name] = made


def _new_claim(volume: objects.VolumeClaimTemplate) -> NewClaimVolume:
    if not isinstance(volume, objects.VolumeClaimTemplate):
        raise TypeError(f"{volume!r:.60} is no couler.VolumeClaimTemplate")
    modes = volume.access_modes
    return NewClaimVolume(
        name=volume.claim_name,
        size=volume.size,
        access_modes=(modes,) if isinstance(modes, str) else tuple(modes),
        storage_class=volume.storage_class,
    )
