"""Volumes, mounts, environment variables and references to secrets. Never a secret's value."""

from __future__ import annotations

import typing as t

from pydantic import Field as ModelField

from couler.ir.base import FrozenDict, JsonMap, Node, TextMap, Variant
from couler.ir.traversal import At, Traversal
from couler.ir.values import Text


class SecretKey(Node):
    """One entry of a secret that exists where the workflow runs."""

    secret: str
    key: str
    optional: bool = False


class ConfigKey(Node):
    """One entry of a config map that exists where the workflow runs."""

    config_map: str
    key: str
    optional: bool = False

    @property
    def text(self) -> str:
        """Both names, for people."""
        return f"{self.config_map}/{self.key}"


ENTRIES: Traversal[SecretKey | ConfigKey] = Traversal(SecretKey, ConfigKey)
"""Finds the entries of secrets and config maps that something names."""


class EnvVar(Node):
    """An environment variable: text or a value, or an entry of a secret or a config map."""

    name: str
    value: t.Annotated[Text | None, At("")] = None
    secret: SecretKey | None = None
    config: ConfigKey | None = None


class EnvFrom(Node):
    """All entries of a secret or a config map as environment variables."""

    secret: str | None = None
    config_map: str | None = None
    prefix: str = ""


FileMode = t.Annotated[int, ModelField(ge=0, le=0o777)]
"""Permissions of files, as a number: `0o440`."""


class ClaimVolume(Variant):
    """A persistent volume claim that exists."""

    kind: t.Literal["claim"] = "claim"
    name: str
    claim: str
    read_only: bool = False


class NewClaimVolume(Variant):
    """A persistent volume claim made for the run and removed with it."""

    kind: t.Literal["new_claim"] = "new_claim"
    name: str
    size: str
    access_modes: tuple[str, ...] = ("ReadWriteOnce",)
    storage_class: str | None = None


class EmptyVolume(Variant):
    """Scratch space that lives as long as one pod."""

    kind: t.Literal["empty"] = "empty"
    name: str
    size: str | None = None
    in_memory: bool = False


class SecretVolume(Variant):
    """A secret's entries as files."""

    kind: t.Literal["secret"] = "secret"
    name: str
    secret: str
    items: TextMap = FrozenDict()
    """Key of an entry -> path of its file; empty for all entries, by their keys."""
    mode: FileMode | None = None
    optional: bool = False


class ConfigVolume(Variant):
    """A config map's entries as files."""

    kind: t.Literal["config"] = "config"
    name: str
    config_map: str
    items: TextMap = FrozenDict()
    """Key of an entry -> path of its file; empty for all entries, by their keys."""
    mode: FileMode | None = None
    optional: bool = False


class HostVolume(Variant):
    """A folder of the node."""

    kind: t.Literal["host"] = "host"
    name: str
    path: str


class NfsVolume(Variant):
    """A folder that an NFS server exports."""

    kind: t.Literal["nfs"] = "nfs"
    name: str
    server: str
    path: str
    read_only: bool = False


class CsiVolume(Variant):
    """Storage that a driver of the cluster makes for one pod."""

    kind: t.Literal["csi"] = "csi"
    name: str
    driver: str
    attributes: TextMap = FrozenDict()
    file_system: str | None = None
    read_only: bool = False
    secret: str | None = None
    """Secret that the driver is given."""


class EphemeralVolume(Variant):
    """A persistent volume claim made for one pod and removed with it."""

    kind: t.Literal["ephemeral"] = "ephemeral"
    name: str
    size: str
    access_modes: tuple[str, ...] = ("ReadWriteOnce",)
    storage_class: str | None = None


class ProjectedVolume(Variant):
    """Several sources as files of one folder, as Kubernetes writes `sources`."""

    kind: t.Literal["projected"] = "projected"
    name: str
    sources: t.Annotated[tuple[JsonMap, ...], ModelField(min_length=1)]
    mode: FileMode | None = None


class SourceVolume(Variant):
    """A volume of any other kind of Kubernetes, as it writes it, such as `{"iscsi": {...}}`."""

    kind: t.Literal["source"] = "source"
    name: str
    source: t.Annotated[JsonMap, ModelField(min_length=1, max_length=1)]


Volume = t.Annotated[
    ClaimVolume
    | NewClaimVolume
    | EmptyVolume
    | SecretVolume
    | ConfigVolume
    | HostVolume
    | NfsVolume
    | CsiVolume
    | EphemeralVolume
    | ProjectedVolume
    | SourceVolume,
    ModelField(discriminator="kind"),
]


class Mount(Node):
    """Where a step sees a volume of the workflow."""

    volume: str
    path: str
    sub_path: str | None = None
    read_only: bool = False
