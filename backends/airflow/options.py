"""What a target can choose of a DAG file."""

from __future__ import annotations

import re
import typing as t

from couler.backends.airflow.versions import NEWEST, OLDEST, Version
from couler.backends.base import Target
from couler.errors import EngineOptionError
from couler.ir.diagnostics import did_you_mean


class Options(t.NamedTuple):
    """The options of a target."""

    helper_image: str = "busybox:1.37-musl"
    """An image with a static busybox at /bin/busybox, whose tools hand outputs on."""
    namespace: str | None = None
    """Where the pods run; None for that of Airflow's connection."""
    version: Version = NEWEST
    """Of Airflow."""


def options(target: Target) -> Options:
    """Read the options of a target.

    Raises
    ------
    EngineOptionError
        The version or an option is unknown.
    """
    known = set(Options._fields) - {"namespace", "version"}
    for name in target.options:
        if name not in known:
            hint = did_you_mean(name, known)
            raise EngineOptionError(
                f"airflow has no option {name!r}; it has: {', '.join(sorted(known))}.{hint}"
            )
    version = _version(target.engine_version)
    return Options(namespace=target.namespace, version=version, **target.options)


def _version(given: str | None) -> Version:
    if given is None:
        return NEWEST
    found = re.fullmatch(r"v?(\d+)\.(\d+)(\.\d+)?", given)
    version = (int(found[1]), int(found[2])) if found else (0, 0)
    if not OLDEST <= version <= NEWEST:
        raise EngineOptionError(
            f"airflow: DAG files are written for Airflow 3.0 to 3.3, not for {given!r}"
        )
    return version
