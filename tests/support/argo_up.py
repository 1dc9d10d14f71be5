"""`make argo-up`: Argo's own controller on this machine, for trying submissions by hand.

Controller and executor are Argo's own. The API server is emulated, and pods run as processes of
this machine. The target `argo-here` of pyproject.toml leads to it.
"""

from __future__ import annotations

import sys

from tests.oracle.argo.cluster import Cluster
from tests.support import argo_oracle
from tests.support.until_interrupt import empty_folder, wait_for_interrupt

_READY = """\
Argo's controller works for {address}, its files in {folder}
In another terminal:
    couler submit examples/model_selection/model_selection.py --target argo-here --watch
Ctrl-C ends it.
"""


def main() -> None:
    """Start Argo and keep it until an interrupt."""
    if reason := argo_oracle.available():
        sys.exit(reason)
    folder = empty_folder("argo")
    cluster = Cluster(folder, python=sys.executable, images={}, settings={}, shared=(), statuses={})
    with cluster.running():
        sys.stdout.write(_READY.format(address=cluster.server.address, folder=folder))
        sys.stdout.flush()
        wait_for_interrupt()


if __name__ == "__main__":
    main()
