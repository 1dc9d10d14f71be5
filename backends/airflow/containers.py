"""Containers as Kubernetes writes them: that of a step, those before and those beside it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.backends.airflow.python import Expression
from couler.ir import kubernetes_pods
from couler.ir.pods import PodContainer
from couler.ir.storage import EnvVar
from couler.ir.values import Text

Tree: t.TypeAlias = dict[str, t.Any]
"""A JSON object, in which texts of users may be expressions."""
Write: t.TypeAlias = Callable[[Text], Expression]
"""Returns the expression for a text that the kubelet reads."""


def variable(wanted: EnvVar, write: Write) -> Tree:
    """Return an entry of `env`."""
    if wanted.secret is not None or wanted.config is not None:
        return kubernetes_pods.variable_source(wanted)
    return {"name": wanted.name, "value": write(wanted.value or "")}


def container(wanted: PodContainer, write: Write) -> Tree:
    """Return a container before or beside that of a step."""
    return kubernetes_pods.container(
        wanted,
        [write(word) for word in wanted.command],
        [write(word) for word in wanted.args],
        [variable(one, write) for one in wanted.env],
    )
