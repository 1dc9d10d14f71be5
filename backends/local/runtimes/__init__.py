"""Runtimes of the local engine: processes of this machine, or containers of podman and docker."""

from __future__ import annotations

from collections.abc import Mapping

from couler.backends.local.runtimes.base import Runtime
from couler.backends.local.runtimes.host import HostRuntime


def make_runtime(name: str, environ: Mapping[str, str]) -> Runtime:
    """Return a runtime by its name, one of `couler.backends.base.RUNTIMES`.

    Parameters
    ----------
    name
        The name.
    environ
        The environment that processes inherit.
    """
    return HostRuntime(environ)
