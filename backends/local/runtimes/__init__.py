"""Runtimes of the local engine: processes of this machine, or containers of podman and docker."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends.base import RuntimeName
from couler.backends.local.runtimes.base import Runtime
from couler.backends.local.runtimes.containers import ContainerRuntime
from couler.backends.local.runtimes.host import HostRuntime


def make_runtime(name: RuntimeName, environ: Mapping[str, str]) -> Runtime:
    """Return a runtime by its name."""
    if name == "process":
        return HostRuntime(environ)
    return ContainerRuntime.from_environ(name, environ)
