"""Which file describes the cluster: an option, the setting, or the one beside the program."""

from __future__ import annotations

import typing as t
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click

from couler.cli._session import Session
from couler.errors import ConfigurationError

if t.TYPE_CHECKING:
    from couler.cli._load import Source
    from couler.cluster.model import Cluster

cluster_option = click.option(
    "--cluster",
    "cluster_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The machines that steps can be placed on; else the setting cluster, else cluster.yaml "
    "beside the program or in this folder.",
)


def find_cluster_file(
    session: Session, flag: Path | None, program: Source | None = None
) -> Path | None:
    """Return the file that describes the cluster; None if there is none."""
    if flag is not None:
        return flag
    stated = session.settings.get("cluster")
    if stated is not None:
        path = Path(stated).expanduser()
        if not path.is_file():
            origin = session.settings.origin("cluster")
            raise ConfigurationError(f"{origin}: there is no cluster file {path}")
        return path
    from couler.cluster.reading import CLUSTER_FILE  # only where a pass asks for machines

    folders = [Path()]
    if program is not None and program.path != "-":
        folders.insert(0, Path(program.path).parent)
    return next(
        (folder / CLUSTER_FILE for folder in folders if (folder / CLUSTER_FILE).is_file()), None
    )


def machines_of(
    session: Session, flag: Path | None, program: Source | None = None
) -> Callable[[], Cluster | None]:
    """Return what gives the cluster that is described, if a pass asks; see `find_cluster`."""
    return partial(find_cluster, session, flag, program)


def find_cluster(
    session: Session, flag: Path | None, program: Source | None = None
) -> Cluster | None:
    """Return the cluster that is described; None if none is."""
    file = find_cluster_file(session, flag, program)
    if file is None:
        return None
    from couler.cluster.reading import read_cluster_file

    session.detail(f"the cluster of {file}")
    return read_cluster_file(file)
