"""Volumes, mounts, environment variables and references to secrets. Never a secret's value."""

from __future__ import annotations

import typing as t

from pydantic import Field as ModelField

from couler.ir.base import Node, Variant
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


class EnvVar(Node):
    """An environment variable: text or a value, or an entry of a secret or a config map."""

    name: str
    value: Text | None = None
    secret: SecretKey | None = None
    config: ConfigKey | None = None


class EnvFrom(Node):
    """All entries of a secret or a config map as environment variables."""

    secret: str | None = None
    config_map: str | None = None
    prefix: str = ""


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


class ConfigVolume(Variant):
    """A config map's entries as files."""

    kind: t.Literal["config"] = "config"
    name: str
    config_map: str


class HostVolume(Variant):
    """A folder of the node."""

    kind: t.Literal["host"] = "host"
    name: str
    path: str


Volume = t.Annotated[
    ClaimVolume | NewClaimVolume | EmptyVolume | SecretVolume | ConfigVolume | HostVolume,
    ModelField(discriminator="kind"),
]


class Mount(Node):
    """Where a step sees a volume of the workflow."""

    volume: str
    path: str
    sub_path: str | None = None
    read_only: bool = False
