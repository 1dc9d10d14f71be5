"""Containers as Kubernetes writes them: that of a step, those before and those beside it."""

from __future__ import annotations

import typing as t
from collections.abc import Callable

from couler.backends.airflow.python import Expression
from couler.ir.kubernetes_pods import (
    container_settings,
    env_from,
    mount,
    resources,
    variable_source,
)
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
        return variable_source(wanted)
    return {"name": wanted.name, "value": write(wanted.value or "")}


def container(wanted: PodContainer, write: Write) -> Tree:
    """Return a container before or beside that of a step."""
    fields: Tree = {
        "name": wanted.name,
        "image": wanted.image,
        "command": [write(word) for word in wanted.command],
        "args": [write(word) for word in wanted.args],
        "env": [variable(one, write) for one in wanted.env],
        "envFrom": [env_from(source) for source in wanted.env_from],
        "resources": None if wanted.resources is None else resources(wanted.resources),
        "volumeMounts": [mount(one) for one in wanted.mounts],
        "workingDir": wanted.working_dir,
        "imagePullPolicy": wanted.pull_policy,
        **container_settings(wanted.settings),
    }
    return _given(fields)


def _given(fields: Tree) -> Tree:
    return {name: value for name, value in fields.items() if value}
